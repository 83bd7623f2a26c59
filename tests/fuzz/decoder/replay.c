// SPDX-License-Identifier: MIT
/*
 * replay DIRECTORY: runs every file of the directory through the target, without a fuzzer.
 *
 * Fails if a file breaks the target, if there is no file, or if no file of some opcode is accepted.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "case.h"

static size_t read_file(const char *directory, const char *name, u8 *bytes, size_t size)
{
	char path[4096];
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		exit(1);
	}
	got = fread(bytes, 1, size, file);
	fclose(file);
	return got;
}

int main(int argc, char **argv)
{
	u32 outcomes[FUZZ_FINISHED + 1] = { 0 }, finished[OVERTAKE_OP_COUNT] = { 0 };
	struct dirent *entry;
	DIR *directory;

	if (argc != 2)
		return 2;
	directory = opendir(argv[1]);
	if (!directory) {
		perror(argv[1]);
		return 1;
	}
	while ((entry = readdir(directory))) {
		struct fuzz_case input = { 0 };
		enum fuzz_outcome outcome;
		size_t size;

		if (entry->d_name[0] == '.')
			continue;
		size = read_file(argv[1], entry->d_name, (u8 *)&input, sizeof(input));
		printf("%s\n", entry->d_name);
		fflush(stdout);
		outcome = fuzz_run((const u8 *)&input, size);
		outcomes[outcome]++;
		if (outcome == FUZZ_FINISHED)
			finished[input.insn.opcode]++;
	}
	closedir(directory);
	printf("%u refused, %u unfinished, %u finished\n", outcomes[FUZZ_REFUSED],
	       outcomes[FUZZ_UNFINISHED], outcomes[FUZZ_FINISHED]);
	for (u32 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		if (!finished[opcode]) {
			printf("none of opcode %u\n", opcode);
			return 1;
		}
	}
	return 0;
}
