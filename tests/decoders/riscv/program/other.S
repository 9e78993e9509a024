/* A function of assembly. */
    .globl thrice
    .type thrice, @function
thrice:
    add a1, a0, a0
    add a0, a0, a1
    ret
    .size thrice, . - thrice
