// SPDX-License-Identifier: MIT
/* Runs every_run() once, with nothing of this project beside it. */
void every_run(void);

int main(void)
{
	every_run();
	return 0;
}
