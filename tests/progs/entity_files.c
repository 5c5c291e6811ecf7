// SPDX-License-Identifier: MIT
/*
 * entity_files EARLY LATE NONE: reads EARLY and LATE, and declares an entity with the uri of each of the
 * three, that of EARLY before it reads it, the others after; twice, and one with a relative uri.
 */
#include <fcntl.h>
#include <unistd.h>

#include <dftracer/dftracer.h>

static int read_it(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);
	int ok = fd >= 0 && read(fd, &byte, 1) == 1 && !close(fd);

	return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	DFTRACER_C_ENTITY("data", "early", DFT_STORE_LOCAL_DISK, argv[1]);
	if (read_it(argv[1]) || read_it(argv[2]))
		return 1;
	DFTRACER_C_ENTITY("data", "late", DFT_STORE_LOCAL_DISK, argv[2]);
	DFTRACER_C_ENTITY("data", "late", DFT_STORE_LOCAL_DISK, argv[2]);
	DFTRACER_C_ENTITY("data", "none", DFT_STORE_LOCAL_DISK, argv[3]);
	DFTRACER_C_ENTITY("data", "relative", DFT_STORE_LOCAL_DISK, "early");
	return 0;
}
