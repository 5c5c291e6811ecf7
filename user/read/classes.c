// SPDX-License-Identifier: MIT
#include "classes.h"

#include <string.h>

static const char *const titles[DFT_CLASSES] = {
	[DFT_CLASS_OTHER] = "other",
	[DFT_CLASS_READ] = "read",
	[DFT_CLASS_WRITE] = "write",
	[DFT_CLASS_COPY] = "copy",
	[DFT_CLASS_SYNC] = "sync",
	[DFT_CLASS_FAULT] = "page faults",
	[DFT_CLASS_OPEN] = "open",
	[DFT_CLASS_CLOSE] = "close",
	[DFT_CLASS_STAT] = "stat",
	[DFT_CLASS_READDIR] = "readdir",
	[DFT_CLASS_NAMES] = "names",
	[DFT_CLASS_ATTRIBUTES] = "attributes",
	[DFT_CLASS_SIZE] = "size",
	[DFT_CLASS_SEEK] = "seek",
	[DFT_CLASS_MAP] = "map",
	[DFT_CLASS_CONTROL] = "control",
	[DFT_CLASS_PROCESS] = "process",
};

/* Those that move bytes are told by dft_dir_of(). Names of the tracer's events, and of DFTracer's. */
static const struct {
	enum dft_class c;
	const char *names; /* each between blanks */
} rows[] = {
	{ DFT_CLASS_COPY, " tee " },
	{ DFT_CLASS_SYNC, " fsync fdatasync sync_file_range syncfs sync msync fflush " },
	{ DFT_CLASS_OPEN, " open open64 openat openat64 creat creat64 fopen fopen64 fdopen freopen freopen64 " },
	{ DFT_CLASS_CLOSE, " close close_range fclose " },
	{ DFT_CLASS_STAT, " stat lstat fstat statvfs fstatvfs access faccessat readlink readlinkat statx "
			  "stat64 lstat64 fstat64 fstatat fstatat64 newfstatat __xstat __xstat64 __lxstat "
			  "__lxstat64 __fxstat __fxstat64 __fxstatat __fxstatat64 " },
	{ DFT_CLASS_READDIR, " readdir readdir64 opendir fdopendir closedir scandir rewinddir telldir seekdir " },
	{ DFT_CLASS_NAMES, " unlink unlinkat rmdir rename renameat renameat2 link linkat symlink symlinkat "
			   "mkdir mkdirat mknod mknodat remove chdir fchdir chroot " },
	{ DFT_CLASS_ATTRIBUTES, " chmod fchmod fchmodat chown lchown fchown fchownat utime utimes utimensat "
				"futimens umask setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr "
				"listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr " },
	{ DFT_CLASS_SIZE, " truncate truncate64 ftruncate ftruncate64 fallocate posix_fallocate " },
	{ DFT_CLASS_SEEK, " lseek lseek64 fseek fseeko fseeko64 ftell ftello rewind fgetpos fsetpos " },
	{ DFT_CLASS_MAP, " mmap mmap64 munmap mremap " },
	{ DFT_CLASS_CONTROL, " dup dup2 dup3 fcntl fcntl64 flock lockf ioctl posix_fadvise posix_fadvise64 "
			     "readahead " },
	{ DFT_CLASS_PROCESS, " execve execveat fork vfork clone wait waitpid " },
};

const char *dft_class_name(enum dft_class c)
{
	return titles[c];
}

enum dft_class dft_class_of(struct dft_str cat, struct dft_str name)
{
	char word[32];

	if (!dft_is_io_cat(cat))
		return DFT_CLASS_OTHER;
	switch (dft_dir_of(cat, name)) {
	case DFT_DIR_READ:
		return DFT_CLASS_READ;
	case DFT_DIR_WRITE:
		return DFT_CLASS_WRITE;
	case DFT_DIR_FROM_FHASH:
	case DFT_DIR_TO_FHASH:
		return DFT_CLASS_COPY;
	case DFT_DIR_MAPPED:
		return DFT_CLASS_FAULT;
	case DFT_DIR_NONE:
		break;
	}
	if (!name.n || name.n + 3 > sizeof(word) || memchr(name.s, ' ', name.n) || memchr(name.s, 0, name.n))
		return DFT_CLASS_OTHER;
	word[0] = ' ';
	memcpy(word + 1, name.s, name.n);
	memcpy(word + 1 + name.n, " ", 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(rows[i].names, word))
			return rows[i].c;
	return DFT_CLASS_OTHER;
}
