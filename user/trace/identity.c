// SPDX-License-Identifier: MIT
/* Whose ids CMD and the output files get. Runs before the fork; nothing here changes any id. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "log.h"

/* One resolved user. Without a passwd entry only uid and gid are known. */
struct account {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t ngroups;
	char *name, *home, *shell;
};

static void account_free(struct account *a)
{
	free(a->groups);
	free(a->name);
	free(a->home);
	free(a->shell);
	memset(a, 0, sizeof(*a));
}

/* A decimal id, nothing before or after; (uid_t)-1 means "leave it" to the kernel, so not that. */
static int parse_id(const char *text, uint32_t *id)
{
	uint64_t v = 0;

	if (!*text)
		return -EINVAL;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		v = v * 10 + (unsigned int)(*p - '0');
		if (v >= UINT32_MAX)
			return -ERANGE;
	}
	*id = (uint32_t)v;
	return 0;
}

static int account_groups(struct account *a, gid_t primary)
{
	int room = 64;

	for (;;) {
		gid_t *groups = reallocarray(a->groups, (size_t)room, sizeof(*groups));
		int n = room;

		if (!groups)
			return -ENOMEM;
		a->groups = groups;
		if (getgrouplist(a->name, primary, groups, &n) >= 0) {
			a->ngroups = (size_t)n;
			return 0;
		}
		/* It says how many there are; a group added meanwhile must not make us spin. */
		room = n > room ? n : room * 2;
	}
}

static int account_from_passwd(struct account *a, const struct passwd *pw)
{
	a->uid = pw->pw_uid;
	a->gid = pw->pw_gid;
	a->name = strdup(pw->pw_name);
	a->home = strdup(pw->pw_dir);
	a->shell = strdup(*pw->pw_shell ? pw->pw_shell : "/bin/sh");
	if (!a->name || !a->home || !a->shell)
		return -ENOMEM;
	return account_groups(a, pw->pw_gid);
}

/* A user without a passwd entry (containers have them): the ids and nothing else. */
static int account_from_ids(struct account *a, uid_t uid, gid_t gid)
{
	a->uid = uid;
	a->gid = gid;
	a->groups = malloc(sizeof(*a->groups));
	if (!a->groups)
		return -ENOMEM;
	a->groups[0] = gid;
	a->ngroups = 1;
	return 0;
}

/* The user of -u: a name, or else a number that has a passwd entry. */
static int account_named(struct account *a, const char *user)
{
	struct passwd *pw;
	uint32_t uid;
	int err;

	errno = 0;
	pw = getpwnam(user);
	if (!pw && parse_id(user, &uid) == 0) {
		errno = 0;
		pw = getpwuid(uid);
	}
	if (!pw) {
		dft_error("-u: %s: %s (getent passwd lists the users)", user,
			  errno && errno != ENOENT && errno != ESRCH ? strerror(errno) :
								       "no such user");
		return -ENOENT;
	}
	err = account_from_passwd(a, pw);
	if (err)
		dft_error("-u: %s: %s (free some memory)", user, strerror(-err));
	return err;
}

/* The entry sudo's caller logged in with: several names may share one uid. */
static struct passwd *sudo_entry(uid_t uid)
{
	const char *name = getenv("SUDO_USER");
	struct passwd *pw = name && *name ? getpwnam(name) : NULL;

	return pw && pw->pw_uid == uid ? pw : getpwuid(uid);
}

/* The user who called sudo. *found is false when nobody did, or when it was root. */
static int account_sudo(struct account *a, bool *found)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	uint32_t uid, gid = 0;
	bool has_gid = gid_text && *gid_text;
	struct passwd *pw;
	int err;

	*found = false;
	if (!uid_text || !*uid_text || geteuid() != 0)
		return 0;
	if (parse_id(uid_text, &uid) || (has_gid && parse_id(gid_text, &gid))) {
		dft_error("SUDO_UID, SUDO_GID: not numbers (unset them to stay root)");
		return -EINVAL;
	}
	if (uid == 0)
		return 0;
	pw = sudo_entry(uid);
	if (!pw && !has_gid) {
		dft_error("SUDO_UID: uid %u has no passwd entry and SUDO_GID is not set "
			  "(set SUDO_GID, or unset SUDO_UID to stay root)", uid);
		return -EINVAL;
	}
	err = pw ? account_from_passwd(a, pw) : account_from_ids(a, uid, gid);
	if (err) {
		dft_error("SUDO_UID: uid %u: %s (free some memory)", uid, strerror(-err));
		return err;
	}
	/* The caller may have changed group before calling sudo. */
	if (has_gid)
		a->gid = gid;
	*found = true;
	return 0;
}

static int copy_out_ids(struct dft_identity *id, const struct account *a)
{
	id->out_groups = malloc(a->ngroups * sizeof(*id->out_groups) + 1);
	if (!id->out_groups) {
		dft_error("SUDO_UID: uid %u: %s (free some memory)", a->uid, strerror(ENOMEM));
		return -ENOMEM;
	}
	memcpy(id->out_groups, a->groups, a->ngroups * sizeof(*id->out_groups));
	id->out_ngroups = a->ngroups;
	id->out_uid = a->uid;
	id->out_gid = a->gid;
	id->change_out = true;
	return 0;
}

/* Hands the account's memory over to `id`. */
static void move_cmd_ids(struct dft_identity *id, struct account *a)
{
	id->change_cmd = true;
	id->cmd_uid = a->uid;
	id->cmd_gid = a->gid;
	id->cmd_groups = a->groups;
	id->cmd_ngroups = a->ngroups;
	id->cmd_name = a->name;
	id->cmd_home = a->home;
	id->cmd_shell = a->shell;
	memset(a, 0, sizeof(*a));
}

static int resolve(struct dft_identity *id, const struct dft_config *cfg, struct account *sudo,
		   struct account *user)
{
	bool by_sudo;
	int err = account_sudo(sudo, &by_sudo);

	if (!err && by_sudo)
		err = copy_out_ids(id, sudo);
	if (err || !cfg->argv)
		return err;
	if (cfg->user) {
		err = account_named(user, cfg->user);
		/* As root, -u root is to stay exactly as we are, groups and environment too. */
		if (!err && !(user->uid == 0 && geteuid() == 0))
			move_cmd_ids(id, user);
		return err;
	}
	if (!by_sudo)
		return 0;
	move_cmd_ids(id, sudo);
	if (id->cmd_name)
		dft_info("running CMD as user %s (uid %u); -u root keeps root", id->cmd_name,
			 id->cmd_uid);
	else
		dft_info("running CMD as uid %u; -u root keeps root", id->cmd_uid);
	return 0;
}

int dft_identity_resolve(struct dft_identity *id, const struct dft_config *cfg)
{
	struct account sudo = { 0 }, user = { 0 };
	int err;

	memset(id, 0, sizeof(*id));
	err = resolve(id, cfg, &sudo, &user);
	account_free(&sudo);
	account_free(&user);
	if (err)
		dft_identity_free(id);
	return err;
}

void dft_identity_free(struct dft_identity *id)
{
	free(id->cmd_groups);
	free(id->cmd_name);
	free(id->cmd_home);
	free(id->cmd_shell);
	free(id->out_groups);
	memset(id, 0, sizeof(*id));
}
