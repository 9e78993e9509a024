-- ptttool: macros for DuckDB, for Parquet files that `ptttool decode` writes.
-- In DuckDB's shell: duckdb -init "$(ptttool duckdb)". In Python: connection.execute(open(path).read()).

-- The 16 bits of a PCI ID: bdf('01:00.0') is 256. A domain in front is accepted and is not part of the number.
CREATE OR REPLACE MACRO bdf(text) AS
    CASE WHEN text IS NULL THEN NULL::USMALLINT
    WHEN regexp_full_match(text, '([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]') THEN
        (('0x' || regexp_extract(text, '([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$', 1))::USMALLINT * 256
        + ('0x' || regexp_extract(text, '([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$', 2))::USMALLINT * 8
        + regexp_extract(text, '([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$', 3)::USMALLINT)::USMALLINT
    ELSE error('not a PCI ID such as 01:00.0: ' || text) END;

-- The text of a PCI ID: bdf_text(256) is '01:00.0'.
CREATE OR REPLACE MACRO bdf_text(id) AS
    CASE WHEN id IS NULL THEN NULL ELSE printf('%02x:%02x.%x', id::UINTEGER >> 8, id::UINTEGER >> 3 & 31, id::UINTEGER & 7) END;
CREATE OR REPLACE MACRO bdf_bus(id) AS id::UINTEGER >> 8;
CREATE OR REPLACE MACRO bdf_device(id) AS id::UINTEGER >> 3 & 31;
CREATE OR REPLACE MACRO bdf_function(id) AS id::UINTEGER & 7;

-- An address or another number as people read it: hex_text(4096) is '0x1000'.
CREATE OR REPLACE MACRO hex_text(number) AS printf('0x%x', number);

-- What kinds of TLPs are.
CREATE OR REPLACE MACRO is_request(kind) AS kind NOT IN ('Cpl', 'CplD', 'CplLk', 'CplDLk', 'Msg', 'MsgD', 'Unknown');
CREATE OR REPLACE MACRO is_completion(kind) AS kind IN ('Cpl', 'CplD', 'CplLk', 'CplDLk');
CREATE OR REPLACE MACRO is_read(kind) AS kind IN ('MRd', 'MRdLk', 'IORd', 'CfgRd0', 'CfgRd1', 'TCfgRd');
CREATE OR REPLACE MACRO is_write(kind) AS kind IN ('MWr', 'DMWr', 'IOWr', 'CfgWr0', 'CfgWr1');
CREATE OR REPLACE MACRO is_atomic(kind) AS kind IN ('FetchAdd', 'Swap', 'CAS');
CREATE OR REPLACE MACRO is_answered(kind) AS is_request(kind) AND kind <> 'MWr';

-- Attr of 8DW records.
CREATE OR REPLACE MACRO is_id_ordered(attr) AS attr & 4 <> 0;
CREATE OR REPLACE MACRO is_relaxed(attr) AS attr & 2 <> 0;
CREATE OR REPLACE MACRO is_no_snoop(attr) AS attr & 1 <> 0;

-- What a Completion Status means.
CREATE OR REPLACE MACRO status_text(status) AS
    CASE status WHEN 'SC' THEN 'Successful Completion' WHEN 'UR' THEN 'Unsupported Request' WHEN 'RRS' THEN 'Request Retry Status'
    WHEN 'CA' THEN 'Completer Abort' WHEN 'reserved' THEN 'reserved, to be treated as Unsupported Request' END;

-- The bytes that a completion brings, and whether it is the last one of its request (its Byte Count counts what was still to come).
CREATE OR REPLACE MACRO completion_bytes(byte_count, length_dw, lower_address) AS
    least(byte_count::INTEGER, 4 * length_dw::INTEGER - (lower_address::INTEGER & 3));
CREATE OR REPLACE MACRO is_last_completion(kind, status, byte_count, length_dw, lower_address) AS
    kind NOT IN ('CplD', 'CplDLk') OR status <> 'SC' OR byte_count::INTEGER <= 4 * length_dw::INTEGER - (lower_address::INTEGER & 3);
