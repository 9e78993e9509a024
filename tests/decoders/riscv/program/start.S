/* Start, trap handler, and what C does not say: system calls, returns to user mode, calls by pairs of instructions. */

#if __riscv_xlen == 64
# define SAVE sd
# define LOAD ld
# define STEP 8
#else
# define SAVE sw
# define LOAD lw
# define STEP 4
#endif

    .section .text.start, "ax"
    .globl _start
_start:
    la sp, stack_top
    la t0, trap_entry
    csrw mtvec, t0
    li t0, -1               /* user mode may use all memory */
    csrw pmpaddr0, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
    call main
    li t0, 0x100000         /* the machine stops */
    li t1, 0x5555
    sw t1, 0(t0)
1:  j 1b

    .text
    .balign 4
    .globl trap_entry
    .type trap_entry, @function
trap_entry:
    csrrw sp, mscratch, sp
    bnez sp, 1f
    csrrw sp, mscratch, zero /* in machine mode the stack stays */
1:  addi sp, sp, -20 * STEP
    SAVE ra, 0 * STEP(sp)
    SAVE t0, 1 * STEP(sp)
    SAVE t1, 2 * STEP(sp)
    SAVE t2, 3 * STEP(sp)
    SAVE a0, 4 * STEP(sp)
    SAVE a1, 5 * STEP(sp)
    SAVE a2, 6 * STEP(sp)
    SAVE a3, 7 * STEP(sp)
    SAVE a4, 8 * STEP(sp)
    SAVE a5, 9 * STEP(sp)
    SAVE a6, 10 * STEP(sp)
    SAVE a7, 11 * STEP(sp)
    SAVE t3, 12 * STEP(sp)
    SAVE t4, 13 * STEP(sp)
    SAVE t5, 14 * STEP(sp)
    SAVE t6, 15 * STEP(sp)
    csrr a0, mcause
    csrr a1, mepc
    csrr a2, mtval
    mv a3, sp
    call on_trap
    csrw mepc, a0
    LOAD ra, 0 * STEP(sp)
    LOAD t1, 2 * STEP(sp)
    LOAD t2, 3 * STEP(sp)
    LOAD a0, 4 * STEP(sp)
    LOAD a1, 5 * STEP(sp)
    LOAD a2, 6 * STEP(sp)
    LOAD a3, 7 * STEP(sp)
    LOAD a4, 8 * STEP(sp)
    LOAD a5, 9 * STEP(sp)
    LOAD a6, 10 * STEP(sp)
    LOAD a7, 11 * STEP(sp)
    LOAD t3, 12 * STEP(sp)
    LOAD t4, 13 * STEP(sp)
    LOAD t5, 14 * STEP(sp)
    LOAD t6, 15 * STEP(sp)
    csrr t0, mscratch       /* 0: from machine mode */
    beqz t0, 2f
    LOAD t0, 1 * STEP(sp)
    addi sp, sp, 20 * STEP
    csrrw sp, mscratch, sp
    mret
2:  LOAD t0, 1 * STEP(sp)
    addi sp, sp, 20 * STEP
    mret
    .size trap_entry, . - trap_entry

/* Interrupts go to the table's entries, the timer's to one that is no instruction: two traps, and nothing retired between them. */
    .balign 64
    .globl broken_vectors
broken_vectors:
    .option push
    .option norvc
    .rept 7
    j trap_entry
    .endr
    .word 0
    .option pop

    .globl system_call
    .type system_call, @function
system_call:
    ecall
    ret
    .size system_call, . - system_call

    .globl no_instruction
    .type no_instruction, @function
no_instruction:
    addi a0, a0, 1
    .word 0xffffffff        /* 4 bytes */
    addi a0, a0, 1
    .half 0                 /* 2 bytes */
    addi a0, a0, 1
    ret
    .size no_instruction, . - no_instruction

    .globl spin
    .type spin, @function
spin:                       /* until *a0 is not 0 */
    lw t0, 0(a0)
    beqz t0, spin
    ret
    .size spin, . - spin

/* void enter_user(function, stack): comes back by the handler, which goes on where ra says. */
    .globl enter_user
    .type enter_user, @function
enter_user:
    csrci mstatus, 8        /* an interrupt would overwrite mepc */
    addi sp, sp, -4 * STEP
    SAVE ra, 0 * STEP(sp)
    SAVE s0, 1 * STEP(sp)
    csrw mscratch, sp
    csrw mepc, a0
    li t0, 0x1800           /* previous privilege: user */
    csrc mstatus, t0
    li t0, 0x80
    csrs mstatus, t0
    mv sp, a1
    mret
    .globl leave_user
leave_user:
    csrrw sp, mscratch, zero
    LOAD ra, 0 * STEP(sp)
    LOAD s0, 1 * STEP(sp)
    addi sp, sp, 4 * STEP
    ret
    .size enter_user, . - enter_user

/* Calls whose targets two instructions tell. */
    .option push
    .option norelax
    .globl pairs
    .type pairs, @function
pairs:
    addi sp, sp, -2 * STEP
    SAVE ra, 0(sp)
    call twice              /* auipc ra; jalr ra, ra */
    la t1, twice
    jalr ra, t1             /* addi stands between */
1:  auipc t1, %pcrel_hi(twice)
    c.nop
    jalr ra, %pcrel_lo(1b)(t1)
#if __riscv_xlen == 32
    lui t2, %hi(twice)
    jalr ra, %lo(twice)(t2)
#endif
    jal t0, swap            /* co-routines */
    addi a0, a0, 3
    jalr t0, t0
    LOAD ra, 0(sp)
    addi sp, sp, 2 * STEP
    tail twice              /* auipc t1; jr t1 */
    .size pairs, . - pairs

    .type swap, @function
swap:
    addi a0, a0, 5
    jalr t0, t0
    addi a0, a0, 7
    jr t0
    .size swap, . - swap
    .option pop

    .globl twice
    .type twice, @function
twice:
    add a0, a0, a0
    ret
    .size twice, . - twice

/* A loop that jumps back to where it is also fallen into. Its 7 instructions meet the timer, which ticks every 100, at any of them. */
    .globl around
    .type around, @function
around:
    mv t0, ra
    la t1, 1f
1:  addi a0, a0, -1
    .rept 4
    nop
    .endr
    bltz a0, 2f
    jr t1
2:  jr t0
    .size around, . - around
