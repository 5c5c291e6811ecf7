// SPDX-License-Identifier: MIT
// LDFLAGS: -static
/* A static binary: static_writes FILE N writes N times, the i-th time i % 7 bytes. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd;

	if (argc != 3)
		return 2;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < atoi(argv[2]); i++)
		if (write(fd, "1234567", (size_t)(i % 7)) != i % 7)
			return 1;
	return close(fd) != 0;
}
