//go:build ignore

/* Prints the action that an exported agent takes, on a little-endian machine:

	cc -o forward forward.c -lm && ./forward agent.safetensors s... g...

It reads F32, and a header without spaces as qta export writes it. It says in one
line what is wrong. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *header;   /* of the tensors: JSON without spaces, ended by a zero */
static char *metadata; /* its entry, cut out of the header */
static char *numbers;  /* float32 */
static long length;    /* of the numbers, in bytes */

static char *fail(const char *name, const char *reason) {
	fprintf(stderr, "%s %s\n", name, reason);
	exit(1);
}

/* split cuts the metadata, whose strings may hold anything, out of the header. */
static void split(void) {
	char *p = strstr(header, "\"__metadata__\":{"), *end;
	if (p == NULL) fail("the header", "has no metadata");
	int quoted = 0;
	for (end = p + strlen("\"__metadata__\":{"); *end && (quoted || *end != '}'); end++)
		if (*end == '"') quoted = !quoted;
		else if (*end == '\\') end++;
	metadata = calloc(end - p + 1, 1);
	memcpy(metadata, p, end - p);
	memset(p, ' ', end - p + (*end != 0));
}

/* check goes through all tensors: each is F32, with a name and bytes of its own. */
static void check(void) {
	char *seen = calloc(length + 1, 1), name[300];
	long bytes = 0;
	for (char *p = header; (p = strstr(p, "\":{")) != NULL; p++) {
		char *begin = p, dtype[9] = "", reason[99];
		while (begin > header && begin[-1] != '"') begin--;
		snprintf(name, sizeof name, "%.*s", (int)(p - begin), begin);
		char *type = strstr(p, "\"dtype\":\""), *offsets = strstr(p, "\"data_offsets\":["), *end = strchr(p, '}');
		if (type == NULL || offsets == NULL || end < type || end < offsets) fail(name, "has no dtype and data_offsets");
		sscanf(type + 9, "%8[^\"]", dtype);
		snprintf(reason, sizeof reason, "is of %s; only F32 is read", dtype);
		if (strcmp(dtype, "F32") != 0) fail(name, reason);
		char key[310];
		snprintf(key, sizeof key, "\"%s\":{", name);
		if (strstr(p + 3, key)) fail(name, "comes twice");
		long first = strtol(offsets + 16, &offsets, 10), last = strtol(offsets + 1, NULL, 10);
		if (first < 0 || last < first || last > length) fail(name, "has bytes beyond the file's end");
		for (bytes += last - first; first < last; first++)
			if (seen[first]++) fail(name, "has bytes of another tensor");
	}
	if (bytes != length) fail(name, "and the others have bytes beside them that are no tensor's");
}

/* tensor returns the numbers of policy.LAYER.KIND and sets their count, or returns NULL. */
static float *tensor(int layer, const char *kind, int *count) {
	char name[64];
	snprintf(name, sizeof name, "\"policy.%d.%s\":{", layer, kind);
	char *p = strstr(header, name);
	if (p == NULL) return NULL;
	p = strstr(p, "\"data_offsets\":[") + 16;
	long first = strtol(p, &p, 10), last = strtol(p + 1, NULL, 10);
	*count = (last - first) / 4;
	return (float *)(numbers + first);
}

/* input returns what follows a key of the inputs' metadata. */
static char *input(const char *key) {
	char *p = strstr(metadata, key);
	return p ? p + strlen(key) : fail("the header", "has no inputs");
}

int main(int argc, char **argv) {
	static char data[1 << 28]; /* the file, at most 256 MB */
	FILE *f = argc > 2 ? fopen(argv[1], "rb") : NULL;
	long size = f ? (long)fread(data, 1, sizeof data - 1, f) : 0;
	if (size < 8 || *(uint64_t *)data > (uint64_t)size - 8) fail("the file", "cannot be read: it is missing or cut off");
	header = data + 8;
	numbers = header + *(uint64_t *)data;
	length = data + size - numbers;
	numbers = memcpy(malloc(length + 1), numbers, length);
	data[size - length] = 0;
	split();
	check();
	int n = argc - 2, count;
	double *x = malloc(n * sizeof *x), clip = strtod(input("\\\"clip\\\":"), NULL);
	char *mean = input("\\\"mean\\\":["), *scale = input("\\\"scale\\\":[");
	for (int i = 0; i < n; i++, mean++, scale++) { /* s and g side by side, normalized */
		if (mean[-1] == ']') fail(argv[1], "takes fewer numbers");
		char *end;
		double v = strtod(argv[2 + i], &end);
		if (*end || !isfinite(v)) fail(argv[2 + i], "is no number");
		v -= strtod(mean, &mean);
		x[i] = fmax(-clip, fmin(v * strtod(scale, &scale), clip));
	}
	if (mean[-1] != ']') fail(argv[1], "takes more numbers");
	float *w, *b;
	for (int layer = 0, held; (w = tensor(layer, "weight", &held)) != NULL; layer++) {
		b = tensor(layer, "bias", &count);
		if (b == NULL || held != count * n) fail(argv[1], "has a layer whose weight and bias do not fit");
		double *y = calloc(count, sizeof *y);
		for (int o = 0; o < count; o++, w += n)
			for (int i = 0; i < n; i++) /* ReLU between the layers */
				y[o] += w[i] * (layer > 0 ? fmax(x[i], 0) : x[i]);
		for (n = 0; n < count; n++) y[n] += b[n];
		x = y;
	}
	for (int o = 0; o < n; o++) printf("%.9g ", tanh(x[o]));
	return 0;
}
