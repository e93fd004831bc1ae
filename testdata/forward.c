//go:build ignore

/* Prints the action that an exported agent takes, on a little-endian machine:

	cc -o forward forward.c -lm && ./forward agent.safetensors s... g... */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *header;  /* JSON without spaces, ended by a zero */
static char *numbers; /* float32 */

/* find returns what follows text in the header, or NULL. */
static char *find(const char *text) {
	char *p = strstr(header, text);
	return p ? p + strlen(text) : NULL;
}

/* tensor returns the numbers of policy.LAYER.KIND and sets their count, or returns NULL. */
static float *tensor(int layer, const char *kind, int *count) {
	char name[64];
	snprintf(name, sizeof name, "\"policy.%d.%s\":", layer, kind);
	char *p = find(name);
	if (p == NULL) return NULL;
	p = strchr(strstr(p, "\"data_offsets\""), '[') + 1;
	long first = strtol(p, &p, 10), last = strtol(p + 1, NULL, 10);
	*count = (last - first) / 4;
	return (float *)(numbers + first);
}

int main(int argc, char **argv) {
	static char data[1 << 28]; /* the file, at most 256 MB */
	FILE *f = argc > 2 ? fopen(argv[1], "rb") : NULL;
	if (f == NULL || fread(data, 1, sizeof data, f) < 8) return 1;
	header = data + 8;
	numbers = header + *(uint64_t *)data;
	numbers[-1] = 0; /* in place of the last brace or space */
	int n = argc - 2, count;
	double *x = malloc(n * sizeof *x), clip = strtod(find("\\\"clip\\\":"), NULL);
	char *mean = find("\\\"mean\\\":["), *scale = find("\\\"scale\\\":[");
	for (int i = 0; i < n; i++, mean++, scale++) { /* s and g side by side, normalized */
		double v = atof(argv[2 + i]) - strtod(mean, &mean);
		x[i] = fmax(-clip, fmin(v * strtod(scale, &scale), clip));
	}
	if (mean[-1] != ']') return 1; /* too few numbers, or too many */
	float *w, *b;
	for (int layer = 0; (w = tensor(layer, "weight", &count)) != NULL; layer++) {
		b = tensor(layer, "bias", &count);
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
