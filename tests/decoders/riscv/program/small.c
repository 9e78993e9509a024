/* A program that is read and never run. */
#include "part/inner.h"

int twice(int value);
volatile int count;

__attribute__((noinline)) int twice(int value) {
    return value + value;
}

/* The linker puts it first, though it comes last. */
__attribute__((section(".text.unlikely"))) void _start(void) {
    for (;;)
        count = inner(twice(count));
}
