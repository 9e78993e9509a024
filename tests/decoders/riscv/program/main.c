/* What a hart does in a trace: loops, calls of all kinds, system calls, exceptions, interrupts, another privilege level. */

typedef unsigned long word;

#define CSR_SET(name, bits) __asm__ volatile("csrs " #name ", %0" ::"r"((word)(bits)))
#define CSR_CLEAR(name, bits) __asm__ volatile("csrc " #name ", %0" ::"r"((word)(bits)))
#define INTERRUPT ((word)1 << (sizeof(word) * 8 - 1))
#define TIMER 7

static volatile unsigned *const MTIME = (unsigned *)0x200bff8;
static volatile unsigned *const MTIMECMP = (unsigned *)0x2004000;

extern char trap_entry[], broken_vectors[], leave_user[], user_stack_top[];
word system_call(word number, word value);
word no_instruction(word value);
void spin(volatile unsigned *flag);
void enter_user(void (*function)(void), void *stack);
word pairs(word value);
void around(word times);

static volatile unsigned ticks, wanted, broken;
static volatile word sink;

static void set_timer(unsigned delay) {
    MTIMECMP[1] = 0;
    MTIMECMP[0] = *MTIME + delay;
}

/* A switch that becomes a table of jumps. */
static __attribute__((noinline)) word dispatch(word number, word value) {
    switch (number) {
    case 0: return value + 1;
    case 1: return value * 3;
    case 2: return value ^ 0x55;
    case 3: return value >> 2;
    case 4: return value - 7;
    case 5: return ~value;
    case 6: return value / 5;
    default: return 0;
    }
}

/* Returns where the program goes on. */
word on_trap(word cause, word epc, word tval, word *saved) {
    if (cause == (INTERRUPT | TIMER)) {
        ticks = ticks + 1;
        if (ticks < wanted)
            set_timer(5 + ticks % 3);
        else
            CSR_CLEAR(mie, 1 << TIMER);
        return epc;
    }
    switch (cause) {
    case 1: /* no memory to fetch from: back to the caller */
        return saved[0];
    case 2:
        if (broken) {
            broken = 0;
            ticks = 1;
            CSR_CLEAR(mie, 1 << TIMER);
            __asm__ volatile("csrw mtvec, %0" ::"r"(trap_entry));
            CSR_SET(mstatus, 0x1880);
            return (word)spin;
        }
        sink = tval;
        return epc + (tval && (tval & 3) == 3 ? 4 : 2);
    case 8:
        if (saved[4] == 99) {
            CSR_SET(mstatus, 0x1800); /* on in machine mode */
            return (word)leave_user;
        }
        saved[4] = dispatch(saved[4], saved[5]);
        return epc + 4;
    case 11:
        saved[4] = dispatch(saved[4], saved[5]);
        return epc + 4;
    default: /* a load of 4 bytes */
        return epc + 4;
    }
}

static unsigned char from[300], to[300];

static __attribute__((noinline)) void copy(unsigned char *destination, const unsigned char *source, word size) {
    while (size >= sizeof(word)) {
        *(word *)destination = *(const word *)source;
        destination += sizeof(word), source += sizeof(word), size -= sizeof(word);
    }
    while (size--)
        *destination++ = *source++;
}

static __attribute__((noinline)) word fibonacci(word n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static __attribute__((noinline)) word ackermann(word m, word n) {
    if (!m)
        return n + 1;
    return n ? ackermann(m - 1, ackermann(m, n - 1)) : ackermann(m - 1, 1);
}

static __attribute__((noinline)) word inner(word a, word b) { return (a * 33) ^ b; }
static __attribute__((noinline)) word middle(word a, word b) { return inner(a, b) + inner(b, a); }
static __attribute__((noinline)) word outer(word a) {
    word sum = 0;
    for (word i = 0; i < 12; i++)
        sum += i % 3 ? middle(a, i) : inner(i, a);
    return sum;
}

static word add(word a, word b) { return a + b; }
static word subtract(word a, word b) { return a - b; }
static word multiply(word a, word b) { return a * b; }
static word (*const OPERATIONS[])(word, word) = {add, subtract, multiply, inner, middle};

static __attribute__((noinline)) word by_pointers(void) {
    word value = 1;
    for (unsigned i = 0; i < 40; i++)
        value = OPERATIONS[i * 7 % 5](value, i);
    return value;
}

static __attribute__((noinline)) void sort(short *values, int count) {
    for (int i = 1; i < count; i++) {
        short value = values[i];
        int j = i;
        for (; j && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

static __attribute__((noinline)) word sieve(void) {
    static unsigned char composite[400];
    word primes = 0;
    for (word i = 2; i < sizeof composite; i++) {
        if (composite[i])
            continue;
        primes++;
        for (word j = i * i; j < sizeof composite; j += i)
            composite[j] = 1;
    }
    return primes;
}

static void in_user_mode(void) {
    word value = 2;
    for (word i = 0; i < 8; i++)
        value = system_call(i, value);
    __asm__ volatile("csrr %0, mstatus" : "=r"(value)); /* not allowed */
    sink = fibonacci(5);
    system_call(99, 0);
}

static void in_user_mode_with_timer(void) {
    sink = fibonacci(9);
    spin(&ticks);
    system_call(99, 0);
}

static void start_timer(unsigned delay, unsigned times) {
    ticks = 0;
    wanted = times;
    set_timer(delay);
    CSR_SET(mie, 1 << TIMER);
}

int main(void) {
    short values[48];

    for (word i = 0; i < sizeof from; i++)
        from[i] = i * 7;
    copy(to, from, 299);
    sink = fibonacci(9) + ackermann(2, 3) + outer(5) + by_pointers() + sieve();
    for (int i = 0; i < 48; i++)
        values[i] = i * 7919 % 251;
    sort(values, 48);
    for (word i = 0; i < 10; i++)
        sink = dispatch(i, sink);
    sink = pairs(3);
    around(9);

    for (word i = 0; i < 8; i++)
        sink = system_call(i, 100 * i);
    no_instruction(1);
    ((void (*)(void))0x40)();                         /* nothing can be fetched there */
    __asm__ volatile(".option push; .option norvc; lw t0, 0(zero); .option pop" ::: "t0");

    CSR_SET(mstatus, 8); /* interrupts from here on */
    start_timer(9, 16);
    for (word i = 0; i < 16; i++)
        sink = outer(i) + by_pointers();
    start_timer(5, 14);
    around(1000);
    CSR_CLEAR(mie, 1 << TIMER);

    ticks = 0;
    broken = 1;
    __asm__ volatile("csrw mtvec, %0" ::"r"((word)broken_vectors | 1));
    set_timer(3);
    CSR_SET(mie, 1 << TIMER);
    spin(&ticks);

    CSR_CLEAR(mie, 1 << TIMER);
    enter_user(in_user_mode, user_stack_top);
    start_timer(4, 6);
    enter_user(in_user_mode_with_timer, user_stack_top);
    return 0;
}
