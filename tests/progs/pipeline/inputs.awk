# SPDX-License-Identifier: MIT
# Makes what the pipeline reads, below `dir` (which has the directories): the same bytes each time.
#
#   chunk.fasta        10 sequences
#   run.cfg            three thresholds
#   db/NAME.fasta      three databases: relatives of the sequences, and some that are none
#   templates.fasta    sequences of known structure, likewise
#   params/NAME.tsv    two models: two numbers for each of the 20 residues

function random(n) # 0 .. n-1; the products stay below 2^53, so any awk counts the same
{
	seed = (seed * 16807) % 2147483647
	return int(seed / 64) % n
}

function residue()
{
	return substr(residues, random(20) + 1, 1)
}

function chain(n,    s)
{
	while (n-- > 0)
		s = s residue()
	return s
}

# A relative of s: `rate` of a hundred residues replaced, a few left out, a few put in.
function relative(s, rate,    i, n, t, out_at, in_at)
{
	n = length(s)
	out_at = random(2) ? random(n - 4) + 1 : 0
	in_at = random(2) ? random(n - 4) + 1 : 0
	for (i = 1; i <= n; i++) {
		if (i == in_at)
			t = t chain(1 + random(3))
		if (out_at && i >= out_at && i < out_at + 2)
			continue
		t = t (random(100) < rate ? residue() : substr(s, i, 1))
	}
	return t
}

# Some relatives are in more than one database.
function database(file, name, each, others,    i, k, n, s)
{
	for (i = 1; i <= 10; i++)
		for (k = 1; k <= each; k++) {
			s = relative(sequence[i], 8 + 14 * k)
			if (k == 1 && i % 2) {
				if (!(i in first))
					first[i] = s
				s = first[i]
			}
			printf(">%s%03d\n%s\n", name, ++n, s) > file
		}
	for (i = 1; i <= others; i++)
		printf(">%s%03d\n%s\n", name, ++n, chain(60 + random(30))) > file
	close(file)
}

function model(file, seed_of_it,    i)
{
	seed = seed_of_it
	for (i = 1; i <= 20; i++)
		printf("%s\t%d\t%d\n", substr(residues, i, 1), random(900), random(900)) > file
	close(file)
}

BEGIN {
	residues = "ACDEFGHIKLMNPQRSTVWY"
	seed = 20261
	for (i = 1; i <= 10; i++) {
		sequence[i] = chain(56 + random(28))
		printf(">SEQ%02d\n%s\n", i, sequence[i]) > (dir "/chunk.fasta")
	}
	printf("min_score 25\nmin_identity 40\nmax_rows 7\n") > (dir "/run.cfg")
	database(dir "/db/families.fasta", "F", 3, 6)
	database(dir "/db/metagenome.fasta", "M", 4, 4)
	database(dir "/db/soil.fasta", "S", 2, 9)
	database(dir "/templates.fasta", "T", 2, 8)
	model(dir "/params/model_1.tsv", 41)
	model(dir "/params/model_2.tsv", 97)
}
