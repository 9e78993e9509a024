/* A function of another file in another folder. */
static __attribute__((noinline)) int inner(int value) {
    return value * value + 3;
}
