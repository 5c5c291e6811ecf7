// SPDX-License-Identifier: MIT
/*
 * Stage 2 of the pipeline, in C++: from filtered alignments to what the models take.
 *
 *     stage2 WORKDIR
 *
 * a3m_to_sto        the alignment in Stockholm format
 * msa_featgen       numbers for each column: features, and how much each row has between the columns
 * template_search   sequences of known structure that resemble the alignment's consensus
 */
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>

#include <dftracer/dftracer.h>

#include "gate.h"

namespace {

const EntityStore DISK = DFT_STORE_LOCAL_DISK;
const std::string residues = "ACDEFGHIKLMNPQRSTVWY";

struct Row {
	std::string id, text;
};
using Rows = std::vector<Row>;

std::string workdir;
Rows templates;

[[noreturn]] void fail(const std::string &path, const char *what)
{
	std::cerr << "stage2: " << path << ": " << what << "\n";
	std::exit(1);
}

/* The path of a file below the working directory. */
std::string at(const std::string &dir, const std::string &name, const std::string &suffix)
{
	return workdir + "/" + dir + "/" + name + suffix;
}

Rows read_rows(const std::string &path)
{
	std::ifstream in(path);
	Rows rows;
	Row row;

	while (in >> row.id >> row.text)
		rows.push_back({row.id.substr(1), row.text});
	if (rows.empty())
		fail(path, "no sequences");
	return rows;
}

void write_file(const std::string &path, const std::string &text)
{
	std::ofstream out(path);

	out << text << std::flush;
	if (!out)
		fail(path, "cannot be written");
}

Rows read_a3m(const std::string &id)
{
	DFTRACER_CPP_FUNCTION();
	Rows rows = read_rows(at("msa", id, ".a3m"));

	DFTRACER_CPP_FUNCTION_UPDATE("rows", static_cast<int>(rows.size()));
	return rows;
}

bool is_insert(char c)
{
	return std::islower(static_cast<unsigned char>(c));
}

/* How many residues a row has before each column, and after the last one. */
std::vector<size_t> inserts(const std::string &text)
{
	std::vector<size_t> n(1);

	for (char c : text) {
		if (is_insert(c))
			n.back()++;
		else
			n.push_back(0);
	}
	return n;
}

/* The row's columns alone. */
std::string columns(const std::string &text)
{
	std::string out;

	for (char c : text)
		if (!is_insert(c))
			out += c;
	return out;
}

/* ---- a3m_to_sto ----------------------------------------------------------------------------- */

/* The row with '.' where others have more, so that all rows are of one length. */
std::string padded(const std::string &text, const std::vector<size_t> &width)
{
	std::string out, between;
	size_t column = 0;

	for (char c : text) {
		if (is_insert(c)) {
			between += c;
			continue;
		}
		out += between + std::string(width[column++] - between.size(), '.') + c;
		between.clear();
	}
	return out + between + std::string(width[column] - between.size(), '.');
}

void a3m_to_sto(const std::string &id)
{
	DFTracer step("a3m_to_sto", "PROV");
	const Rows rows = read_a3m(id);
	std::vector<size_t> width(columns(rows[0].text).size() + 1);
	std::ostringstream out;

	for (const Row &row : rows) {
		const std::vector<size_t> n = inserts(row.text);

		for (size_t i = 0; i < width.size(); i++)
			width[i] = n[i] > width[i] ? n[i] : width[i];
	}
	out << "# STOCKHOLM 1.0\n";
	for (const Row &row : rows)
		out << row.id << " " << padded(row.text, width) << "\n";
	out << "//\n";
	write_file(at("msa", id, ".sto"), out.str());

	const EntityID a3m = step.uses("filtered_msa", id.c_str(), DISK, at("msa", id, ".a3m").c_str());
	const EntityID sto = step.generates("sto_msa", id.c_str(), DISK, at("msa", id, ".sto").c_str());
	DFTRACER_CPP_ENTITY_RELATE(DFT_REL_ALTERNATE_OF, sto, a3m);
	step.update("sequence", id.c_str());
	step.update("rows", static_cast<int>(rows.size()));
}

/* ---- msa_featgen ---------------------------------------------------------------------------- */

/* For each column: the query's residue, how many rows have one, how many have the same, in 1/1000. */
std::string features_of(const Rows &rows)
{
	std::ostringstream out;
	const std::string query = columns(rows[0].text);

	out << "residue\tdepth\tconserved\n";
	for (size_t i = 0; i < query.size(); i++) {
		int depth = 0, same = 0;

		for (const Row &row : rows) {
			const char c = columns(row.text)[i];

			depth += c != '-';
			same += c == query[i];
		}
		out << query[i] << "\t" << depth << "\t" << 1000 * same / static_cast<int>(rows.size()) << "\n";
	}
	return out.str();
}

void msa_featgen(const std::string &id)
{
	DFTracer step("msa_featgen", "PROV");
	const Rows rows = read_a3m(id);
	const Rows sequence = read_rows(at("seq", id, ".fasta"));
	std::ostringstream deletions;

	if (columns(rows[0].text) != sequence[0].text)
		fail(at("msa", id, ".a3m"), "not the alignment of its sequence");
	write_file(at("features", id, ".features.tsv"), features_of(rows));
	for (const Row &row : rows) {
		const std::vector<size_t> n = inserts(row.text);

		for (size_t i = 0; i < n.size(); i++)
			deletions << (i ? "\t" : "") << n[i];
		deletions << "\n";
	}
	write_file(at("features", id, ".deletions.tsv"), deletions.str());

	step.uses("filtered_msa", id.c_str()); /* declared with its file by a3m_to_sto */
	step.uses("sequence", id.c_str(), DISK, at("seq", id, ".fasta").c_str());
	step.generates("msa_features", id.c_str(), DISK, at("features", id, ".features.tsv").c_str());
	step.generates("deletion_matrix", id.c_str(), DISK, at("features", id, ".deletions.tsv").c_str());
	step.update("sequence", id.c_str());
	step.update("columns", static_cast<int>(sequence[0].text.size()));
}

/* ---- template_search ------------------------------------------------------------------------ */

void read_templates()
{
	DFTRACER_CPP_REGION_START(read_templates);
	templates = read_rows(at("inputs", "templates", ".fasta"));
	DFTRACER_CPP_REGION_DYN_UPDATE(read_templates, "templates", static_cast<int>(templates.size()));
	DFTRACER_CPP_REGION_END(read_templates);
}

/* The most frequent residue of each column of a Stockholm file; the first in order where several are. */
std::string consensus(const std::string &path)
{
	std::ifstream in(path);
	std::string id, text, line, out;
	std::vector<std::vector<int>> counts;

	while (std::getline(in, line)) {
		std::istringstream words(line);

		if (line[0] == '#' || line == "//" || !(words >> id >> text))
			continue;
		counts.resize(text.size(), std::vector<int>(residues.size()));
		for (size_t i = 0; i < text.size(); i++) {
			const size_t r = residues.find(text[i]); /* capitals: columns of the query */

			if (r != std::string::npos)
				counts[i][r]++;
		}
	}
	if (counts.empty())
		fail(path, "no alignment");
	for (const std::vector<int> &column : counts) {
		size_t top = 0;

		for (size_t r = 1; r < column.size(); r++)
			top = column[r] > column[top] ? r : top;
		if (column[top])
			out += residues[top];
	}
	return out;
}

std::set<std::string> triples(const std::string &text)
{
	std::set<std::string> out;

	for (size_t i = 0; i + 3 <= text.size(); i++)
		out.insert(text.substr(i, 3));
	return out;
}

void template_search(const std::string &id)
{
	DFTracer step("template_search", "PROV");
	const std::set<std::string> wanted = triples(consensus(at("msa", id, ".sto")));
	std::ostringstream out;
	int hits = 0;

	out << "template\tshared\n";
	for (const Row &t : templates) {
		int shared = 0;

		for (const std::string &triple : triples(t.text))
			shared += static_cast<int>(wanted.count(triple));
		if (shared >= 8) {
			out << t.id << "\t" << shared << "\n";
			hits++;
		}
	}
	write_file(at("templates", id, ".hits.tsv"), out.str());

	step.relate(DFT_REL_USED, "sto_msa", id.c_str(), DISK, at("msa", id, ".sto").c_str());
	step.uses("template_db", "templates", DISK, at("inputs", "templates", ".fasta").c_str());
	step.generates("template_hits", id.c_str(), DISK, at("templates", id, ".hits.tsv").c_str());
	step.update("sequence", id.c_str());
	step.update("hits", hits);
}

/* ---- all of it ------------------------------------------------------------------------------ */

void declare_types()
{
	DFTRACER_CPP_ENTITY_TYPE("sequence", DFT_ROLE_INPUT, "one sequence");
	DFTRACER_CPP_ENTITY_TYPE("filtered_msa", DFT_ROLE_INTERMEDIATE, "relatives worth keeping");
	DFTRACER_CPP_ENTITY_TYPE("sto_msa", DFT_ROLE_INTERMEDIATE, "the same in Stockholm format");
	DFTRACER_CPP_ENTITY_TYPE("msa_features", DFT_ROLE_INTERMEDIATE, "numbers for each column");
	DFTRACER_CPP_ENTITY_TYPE("deletion_matrix", DFT_ROLE_INTERMEDIATE, "what is between columns");
	DFTRACER_CPP_ENTITY_TYPE("template_db", DFT_ROLE_REFERENCE, "known structures");
	DFTRACER_CPP_ENTITY_TYPE("template_hits", DFT_ROLE_INTERMEDIATE, "structures that resemble");
}

/* The sequences for which stage 1 has left an alignment, in order. */
std::set<std::string> aligned()
{
	const std::string path = workdir + "/msa", suffix = ".a3m";
	DIR *dir = opendir(path.c_str());
	std::set<std::string> ids;

	if (!dir)
		fail(path, "cannot be read");
	while (const dirent *entry = readdir(dir)) {
		const std::string name = entry->d_name;

		if (name.size() > suffix.size() &&
		    !name.compare(name.size() - suffix.size(), suffix.size(), suffix))
			ids.insert(name.substr(0, name.size() - suffix.size()));
	}
	closedir(dir);
	if (ids.empty())
		fail(path, "no alignments");
	return ids;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::cerr << "usage: stage2 WORKDIR\n";
		return 2;
	}
	workdir = argv[1];
	const std::set<std::string> ids = aligned();

	gate();
	DFTRACER_CPP_INIT(nullptr, nullptr, nullptr);
	DFTRACER_CPP_METADATA(run, "pipeline", "protein-structure");
	DFTRACER_CPP_MARK_USED("PIPELINE");
	DFTRACER_CPP_APP_METADATA_STR("stage", "features");
	declare_types();
	read_templates();
	for (const std::string &id : ids)
		a3m_to_sto(id);
	for (const std::string &id : ids)
		msa_featgen(id);
	for (const std::string &id : ids)
		template_search(id);
	DFTRACER_CPP_APP_METADATA_INT("sequences", static_cast<int>(ids.size()));
	DFTRACER_CPP_FINI();
	return 0;
}
