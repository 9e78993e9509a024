/* PTT records to columns, one core: the loop that ptttool's is held against, and a decoder that shares nothing with it.
 *
 * columns FILE 8dw|4dw core|default: FILE holds records and nothing else. Prints JSON: seconds of one pass over all of FILE in memory,
 * records, and for every column how many records have it and the sum of its values, modulo 2^64. Columns and types: "default" are those
 * that ptttool writes to CSV by default, but for the index; "core" is eight of them. Directions are those of a recording of all inbound
 * TLPs in 8DW and of a recording of both directions in 4DW, of which no bus is known. A pass fills arrays of BLOCK records, one for each
 * column, and one for each set of records that have some columns and not others. Layouts: Documentation/trace/hisi-ptt.rst of the Linux
 * sources; PCIe base specification 6.x, section 2.2.
 */
#define _POSIX_C_SOURCE 199309L
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK (1 << 14)
/* A bit more, so that the arrays do not all begin at the same place of a cache's sets: that costs three quarters of the speed. */
#define ROOM (BLOCK + 320)
#define inline inline __attribute__((always_inline))

enum { MRD, MRDLK, MWR, IORD, IOWR, CFGRD0, CFGWR0, CFGRD1, CFGWR1, MSG, MSGD, CPL, CPLD, CPLLK, CPLDLK, FETCHADD, SWAP, CAS, DMWR, TCFGRD, UNKNOWN };
enum { P, NP, C };
enum { SC, UR, RRS, CA, RESERVED };
enum { INBOUND, OUTBOUND, EITHER };
/* Whether a bus is behind the traced ports. */
enum { NO, YES, MAYBE };

/* What a header has, by its first byte and TH. */
enum {
    KNOWN = 1 << 8, COMPLETION = 1 << 9, TAGGED = 1 << 10, ADDRESSED = 1 << 11, WIDE = 1 << 12, ENABLED = 1 << 13, BY_ID = 1 << 14,
    CONFIG = 1 << 15, MESSAGE = 1 << 16, DATA = 1 << 17
};
#define KIND(has) ((has) & 0x1f)
#define CLASS(has) ((has) >> 5 & 3)

static uint32_t table[512];
static const uint8_t statuses[8] = {SC, UR, RRS, RESERVED, CA, RESERVED, RESERVED, RESERVED};
/* By bus; by completion, configuration, the bus of DW 1 and that of the requester; of messages by code and by routing. */
static uint8_t behind[256], directions[64], by_code[256], by_routing[8];
/* Bytes that byte enables leave out, by both of them, Length 1, data. */
static uint8_t disabled[1024];

static void entry(int code, int kind, int group, uint32_t has)
{
    for (int th = 0; th < 2; th++) {
        uint32_t own = has;
        if (th && (kind == MRD || kind == DMWR))
            own &= ~(uint32_t)ENABLED;
        if (th && kind == MWR)
            own &= ~(uint32_t)TAGGED;
        if (code & 0x40)
            own |= DATA;
        table[th << 8 | code] = own | KNOWN | kind | group << 5;
    }
}

static void fill_table(void)
{
    for (int i = 0; i < 512; i++)
        table[i] = UNKNOWN;
    for (int wide = 0; wide < 2; wide++) {
        int form = wide << 5;
        uint32_t has = TAGGED | ADDRESSED | (wide ? WIDE : 0);
        entry(form | 0x00, MRD, NP, has | ENABLED);
        entry(form | 0x01, MRDLK, NP, has | ENABLED);
        entry(form | 0x40, MWR, P, has | ENABLED);
        entry(form | 0x5b, DMWR, NP, has | ENABLED);
        entry(form | 0x4c, FETCHADD, NP, has);
        entry(form | 0x4d, SWAP, NP, has);
        entry(form | 0x4e, CAS, NP, has);
    }
    entry(0x02, IORD, NP, TAGGED | ADDRESSED | ENABLED);
    entry(0x42, IOWR, NP, TAGGED | ADDRESSED | ENABLED);
    entry(0x04, CFGRD0, NP, TAGGED | ENABLED | BY_ID | CONFIG);
    entry(0x44, CFGWR0, NP, TAGGED | ENABLED | BY_ID | CONFIG);
    entry(0x05, CFGRD1, NP, TAGGED | ENABLED | BY_ID | CONFIG);
    entry(0x45, CFGWR1, NP, TAGGED | ENABLED | BY_ID | CONFIG);
    entry(0x1b, TCFGRD, NP, TAGGED | ENABLED | BY_ID | CONFIG);
    entry(0x0a, CPL, C, TAGGED | COMPLETION);
    entry(0x4a, CPLD, C, TAGGED | COMPLETION);
    entry(0x0b, CPLLK, C, TAGGED | COMPLETION);
    entry(0x4b, CPLDLK, C, TAGGED | COMPLETION);
    for (int route = 0; route < 8; route++) {
        entry(0x30 | route, MSG, P, TAGGED | MESSAGE | (route == 2 ? BY_ID : 0));
        entry(0x70 | route, MSGD, P, TAGGED | MESSAGE | (route == 2 ? BY_ID : 0));
    }
}

static uint32_t ones(uint32_t bits)
{
    return (bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1) + (bits >> 3 & 1);
}

/* Bytes before the first enabled one of a DW, and behind the last one; all four where none is. */
static uint32_t before(uint32_t bits)
{
    return bits & 1 ? 0 : bits & 2 ? 1 : bits & 4 ? 2 : bits & 8 ? 3 : 4;
}

static uint32_t after(uint32_t bits)
{
    return bits & 8 ? 0 : bits & 4 ? 1 : bits & 2 ? 2 : bits & 1 ? 3 : 4;
}

static void fill_disabled(void)
{
    for (uint32_t i = 0; i < 1024; i++) {
        uint32_t first = i & 0xf, last = i >> 4 & 0xf, single = i >> 8 & 1, write = i >> 9;
        if (write)
            disabled[i] = 4 - ones(first) + (single ? 0 : 4 - ones(last));
        else
            disabled[i] = before(first) + (!single ? after(last) : first ? after(first) : 0);
    }
}

static int direction_of(int completion, int config, int completer, int requester)
{
    if (config)
        return OUTBOUND;
    if (completion)
        return completer == YES ? INBOUND : completer == NO && requester == YES ? OUTBOUND : EITHER;
    return requester == YES ? INBOUND : requester == NO ? OUTBOUND : EITHER;
}

static void fill_directions(void)
{
    static const uint8_t in[] = {0x02, 0x04, 0x10, 0x18, 0x1b, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x30, 0x31, 0x33, 0x52};
    static const uint8_t out[] = {0x00, 0x01, 0x05, 0x12, 0x14, 0x19, 0x50, 0x53};
    memset(behind, MAYBE, sizeof behind);
    behind[0] = NO;
    for (int i = 0; i < 64; i++)
        directions[i] = direction_of(i >> 5, i >> 4 & 1, i >> 2 & 3, i & 3);
    memset(by_code, EITHER, sizeof by_code);
    memset(by_routing, EITHER, sizeof by_routing);
    for (size_t i = 0; i < sizeof in; i++)
        by_code[in[i]] = INBOUND;
    for (size_t i = 0; i < sizeof out; i++)
        by_code[out[i]] = OUTBOUND;
    by_routing[0] = by_routing[5] = INBOUND;
    by_routing[3] = OUTBOUND;
}

static struct {
    uint32_t time[ROOM];
    uint8_t kind[ROOM], group[ROOM];
    uint16_t length[ROOM], payload[ROOM], requester[ROOM], completer[ROOM], tag[ROOM];
    uint64_t address[ROOM];
    uint8_t first[ROOM], last[ROOM];
    uint16_t destination[ROOM], reg[ROOM];
    uint8_t status[ROOM];
    uint16_t count[ROOM];
    uint8_t lower[ROOM], message[ROOM], direction[ROOM];
    uint16_t requested[ROOM];
    /* Which records have them. */
    uint8_t record[ROOM], known[ROOM], completion[ROOM], tagged[ROOM], addressed[ROOM], enabled[ROOM], by_id[ROOM], config[ROOM],
        is_message[ROOM], request[ROOM];
} block;

static inline uint32_t direction_at(uint32_t has, uint32_t dw0, uint32_t dw1, uint32_t asker)
{
    uint32_t found = directions[(has & COMPLETION) >> 9 << 5 | (has & CONFIG) >> 15 << 4 | behind[dw1 >> 24] << 2 | behind[asker >> 24]];
    if (has & MESSAGE) {
        uint32_t code = by_code[dw1 & 0xff], routing = by_routing[dw0 >> 24 & 7];
        found = code != EITHER ? code : routing != EITHER ? routing : asker >> 16 ? found : EITHER;
    }
    return found;
}

static inline uint32_t requested_at(uint32_t has, uint32_t length, uint32_t dw1)
{
    uint32_t bytes = 4 * length >> (KIND(has) == CAS);
    return has & ENABLED ? bytes - disabled[(dw1 & 0xff) | (length == 1) << 8 | (has & DATA) >> 17 << 9] : bytes;
}

/* dw0: the header's first word as the specification has it, as far as the record keeps it. all: not the core's columns only. */
static inline void decode(size_t at, uint32_t dw0, uint32_t dw1, uint32_t dw2, uint32_t dw3, uint32_t time, int good, int all, int inbound)
{
    uint32_t has = good ? table[(dw0 >> 16 & 1) << 8 | dw0 >> 24] : UNKNOWN;
    uint32_t length = ((dw0 - 1) & 0x3ff) + 1;
    uint32_t asker = has & COMPLETION ? dw2 : dw1;
    block.time[at] = time;
    block.kind[at] = KIND(has);
    block.group[at] = CLASS(has);
    block.length[at] = length;
    block.payload[at] = has & DATA ? 4 * length : 0;
    block.requester[at] = asker >> 16;
    block.tag[at] = (asker >> 8 & 0xff) | (dw0 >> 11 & 0x100) | (dw0 >> 14 & 0x200);
    block.address[at] = has & WIDE ? (uint64_t)dw2 << 32 | (dw3 & ~3u) : dw2 & ~3u;
    block.record[at] = good;
    block.known[at] = !!(has & KNOWN);
    block.tagged[at] = !!(has & TAGGED);
    block.addressed[at] = !!(has & ADDRESSED);
    if (!all)
        return;
    block.completer[at] = dw1 >> 16;
    block.first[at] = dw1 & 0xf;
    block.last[at] = dw1 >> 4 & 0xf;
    block.destination[at] = dw2 >> 16;
    block.reg[at] = dw2 & 0xffc;
    block.status[at] = statuses[dw1 >> 13 & 7];
    block.count[at] = ((dw1 - 1) & 0xfff) + 1;
    block.lower[at] = dw2 & 0x7f;
    block.message[at] = dw1 & 0xff;
    block.direction[at] = inbound ? INBOUND : direction_at(has, dw0, dw1, asker);
    block.requested[at] = requested_at(has, length, dw1);
    block.completion[at] = !!(has & COMPLETION);
    block.enabled[at] = !!(has & ENABLED);
    block.by_id[at] = !!(has & BY_ID);
    block.config[at] = !!(has & CONFIG);
    block.is_message[at] = !!(has & MESSAGE);
    block.request[at] = !!(has & (ADDRESSED | CONFIG));
}

/* Some records into the block, all-zero ones left out; how many are in it. */
static inline size_t decode_8dw(const uint32_t *word, size_t records, int all)
{
    size_t at = 0;
    for (size_t i = 0; i < records; i++, word += 8) {
        if (!word[0] && !(word[1] | word[2] | word[3] | word[4] | word[5] | word[6] | word[7]))
            continue;
        decode(at++, word[2], word[3], word[4], word[5], word[7], word[0] >= 0xfffff800u, all, 1);
    }
    return at;
}

static inline size_t decode_4dw(const uint32_t *word, size_t records, int all)
{
    size_t at = 0;
    for (size_t i = 0; i < records; i++, word += 4) {
        uint32_t own = word[0];
        if (!own && !(word[1] | word[2] | word[3]))
            continue;
        uint32_t dw0 = (own >> 1 & 0x7f800000) | (own >> 4 & 0x00080000) | (own >> 6 & 0x00010000) | (own >> 11 & 0x3ff);
        decode(at++, dw0, word[1], word[2], word[3], own & 0x7ff, 1, all, 0);
    }
    return at;
}

/* A function for each case: what is constant in it is decided by the compiler. */
static size_t decode_part(const uint32_t *word, size_t records, int eight, int all)
{
    if (eight)
        return all ? decode_8dw(word, records, 1) : decode_8dw(word, records, 0);
    return all ? decode_4dw(word, records, 1) : decode_4dw(word, records, 0);
}

static struct total {
    const char *name;
    uint64_t valid, sum;
} totals[] = {{"time"}, {"kind"}, {"class"}, {"length_dw"}, {"payload_bytes"}, {"requester"}, {"tag"}, {"address"}, {"completer"}, {"first_be"},
              {"last_be"}, {"destination"}, {"register"}, {"status"}, {"byte_count"}, {"lower_address"}, {"message"}, {"direction"},
              {"requested_bytes"}};
#define CORE 8
#define ALL (sizeof totals / sizeof *totals)

static void add_up(size_t records, int all)
{
    for (size_t i = 0; i < records; i++) {
        struct total *total = totals;
#define ADD(column, mask) (total->valid += (mask), total->sum += (mask) ? block.column[i] : 0, total++)
        ADD(time, block.record[i]);
        ADD(kind, 1);
        ADD(group, block.known[i]);
        ADD(length, block.record[i]);
        ADD(payload, block.known[i]);
        ADD(requester, block.known[i]);
        ADD(tag, block.tagged[i]);
        ADD(address, block.addressed[i]);
        if (!all)
            continue;
        ADD(completer, block.completion[i]);
        ADD(first, block.enabled[i]);
        ADD(last, block.enabled[i]);
        ADD(destination, block.by_id[i]);
        ADD(reg, block.config[i]);
        ADD(status, block.completion[i]);
        ADD(count, block.completion[i]);
        ADD(lower, block.completion[i]);
        ADD(message, block.is_message[i]);
        ADD(direction, block.known[i]);
        ADD(requested, block.request[i]);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int good = argc == 4 && (!strcmp(argv[2], "8dw") || !strcmp(argv[2], "4dw")) && (!strcmp(argv[3], "core") || !strcmp(argv[3], "default"));
    if (!good) {
        fprintf(stderr, "usage: columns FILE 8dw|4dw core|default\n");
        return 2;
    }
    int eight = !strcmp(argv[2], "8dw"), all = !strcmp(argv[3], "default");
    size_t words = eight ? 8 : 4;
    FILE *file = fopen(argv[1], "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(argv[1]);
        return 1;
    }
    size_t records = (size_t)ftell(file) / (4 * words), decoded = 0;
    uint32_t *data = malloc(records * words * 4 + 1);
    rewind(file);
    if (!data || fread(data, 4 * words, records, file) != records) {
        perror(argv[1]);
        return 1;
    }
    fill_table();
    fill_disabled();
    fill_directions();
    double seconds = 0;
    for (int timed = 0; timed < 2; timed++) {
        double started = now();
        for (size_t start = 0; start < records; start += BLOCK) {
            size_t part = records - start < BLOCK ? records - start : BLOCK;
            size_t made = decode_part(data + start * words, part, eight, all);
            __asm__ volatile("" : : "r"(&block) : "memory"); /* somebody may look at it */
            if (!timed) {
                decoded += made;
                add_up(made, all);
            }
        }
        seconds = now() - started;
    }
    printf("{\"seconds\": %.9f, \"records\": %zu, \"columns\": {", seconds, decoded);
    for (size_t i = 0; i < (all ? ALL : CORE); i++)
        printf("%s\"%s\": {\"valid\": %" PRIu64 ", \"sum\": %" PRIu64 "}", i ? ", " : "", totals[i].name, totals[i].valid, totals[i].sum);
    printf("}}\n");
    return 0;
}
