-- ptttool: PCIe TLPs in Wireshark, from capture files that `ptttool decode --to pcapng` writes.
--
-- A packet is a pseudo-header of ptttool's and the header of a TLP, 3 or 4 DWs in the order of the link; the payload is not recorded.
-- The fields are those of the columns of `ptttool decode`, by the same names: pcie.tlp.kind, pcie.tlp.requester, ...
-- A field that a TLP does not have is absent. Runs in Lua 5.1 to 5.4.

local VERSION = 1

local pcie = Proto("pcie.tlp", "PCIe TLP")

local INTEGER, HEX = base.DEC, base.HEX
local f = {}
local all = {}

local function field(name, make, text, ...)
    local made = make("pcie.tlp." .. name, text, ...)
    f[name] = made
    all[#all + 1] = made
end

-- What the pseudo-header holds.
field("index", ProtoField.uint64, "Index in the recording", INTEGER)
field("offset", ProtoField.uint64, "Offset in the AUX stream", HEX)
field("cpu", ProtoField.int32, "CPU of the AUX stream", INTEGER)
field("time", ProtoField.uint32, "Time (raw)", INTEGER)
field("ticks", ProtoField.uint64, "Ticks since the first record", INTEGER)
field("layout", ProtoField.string, "Layout of the record")
field("direction", ProtoField.string, "Direction")
field("absent_bits", ProtoField.uint32, "Bits of DW 0 that are not recorded", HEX)
-- The header.
field("kind", ProtoField.string, "Kind")
field("class", ProtoField.string, "Class")
field("length_dw", ProtoField.uint16, "Length (DWs)", INTEGER)
field("payload_bytes", ProtoField.uint16, "Payload (bytes)", INTEGER)
field("requested_bytes", ProtoField.uint16, "Requested (bytes)", INTEGER)
field("requester", ProtoField.string, "Requester ID")
field("completer", ProtoField.string, "Completer ID")
field("tag", ProtoField.uint16, "Tag", INTEGER)
field("address", ProtoField.uint64, "Address", HEX)
field("first_be", ProtoField.uint8, "First DW Byte Enable", HEX)
field("last_be", ProtoField.uint8, "Last DW Byte Enable", HEX)
field("destination", ProtoField.string, "Destination ID")
field("register", ProtoField.uint16, "Register", HEX)
field("status", ProtoField.string, "Completion Status")
field("byte_count", ProtoField.uint16, "Byte Count", INTEGER)
field("bcm", ProtoField.uint8, "Byte Count Modified", INTEGER)
field("lower_address", ProtoField.uint8, "Lower Address", HEX)
field("message", ProtoField.uint8, "Message Code", HEX)
field("routing", ProtoField.uint8, "Routing", INTEGER)
field("tc", ProtoField.uint8, "Traffic Class", INTEGER)
field("attr", ProtoField.uint8, "Attr", INTEGER)
field("at", ProtoField.uint8, "Address Type", INTEGER)
field("th", ProtoField.uint8, "TLP Hints", INTEGER)
field("td", ProtoField.uint8, "TLP Digest", INTEGER)
field("ep", ProtoField.uint8, "Poisoned", INTEGER)
field("so", ProtoField.uint8, "SO", INTEGER)
field("ln", ProtoField.uint8, "Lightweight Notification", INTEGER)
field("ph", ProtoField.uint8, "Processing Hint", INTEGER)
field("st", ProtoField.uint16, "Steering Tag", HEX)
field("prefix", ProtoField.uint32, "TLP prefix", HEX)
field("segment", ProtoField.uint8, "Segment", INTEGER)
field("completer_segment", ProtoField.uint8, "Completer Segment", INTEGER)
field("dw0", ProtoField.uint32, "DW 0 as recorded", HEX)
field("dw1", ProtoField.uint32, "DW 1 as recorded", HEX)
field("dw2", ProtoField.uint32, "DW 2 as recorded", HEX)
field("dw3", ProtoField.uint32, "DW 3 as recorded", HEX)
-- What follows from other packets, and from the description of the interface.
field("request_in", ProtoField.framenum, "Request in", base.NONE, frametype.REQUEST)
field("completion_in", ProtoField.framenum, "Completion in", base.NONE, frametype.RESPONSE)
field("completion_time", ProtoField.uint64, "Ticks since the request", INTEGER)
field("requester_name", ProtoField.string, "Requester")
field("completer_name", ProtoField.string, "Completer")
field("destination_name", ProtoField.string, "Destination")
pcie.fields = all

local odd = {
    invalid = ProtoExpert.new("pcie.tlp.invalid", "Not a valid record: no check word", expert.group.MALFORMED, expert.severity.ERROR),
    unknown = ProtoExpert.new("pcie.tlp.unknown", "Fmt and Type are not the code of a TLP", expert.group.UNDECODED, expert.severity.WARN),
    poisoned = ProtoExpert.new("pcie.tlp.poisoned", "Poisoned data", expert.group.CHECKSUM, expert.severity.WARN),
    UR = ProtoExpert.new("pcie.tlp.ur", "Unsupported Request", expert.group.RESPONSE_CODE, expert.severity.WARN),
    CA = ProtoExpert.new("pcie.tlp.ca", "Completer Abort", expert.group.RESPONSE_CODE, expert.severity.WARN),
    RRS = ProtoExpert.new("pcie.tlp.rrs", "Request Retry Status", expert.group.RESPONSE_CODE, expert.severity.NOTE),
    reserved = ProtoExpert.new("pcie.tlp.reserved_status", "Reserved Completion Status", expert.group.RESPONSE_CODE, expert.severity.WARN),
    reused = ProtoExpert.new("pcie.tlp.unanswered", "The tag was in use: the request before has no completion", expert.group.SEQUENCE,
        expert.severity.NOTE),
}
pcie.experts = { odd.invalid, odd.unknown, odd.poisoned, odd.UR, odd.CA, odd.RRS, odd.reserved, odd.reused }

local interface_id = Field.new("frame.interface_id")
local interface_text = Field.new("frame.interface_description")

local LAYOUTS = { [0] = "4dw", "8dw", "4dw-v1", "8dw-v1" }
local DIRECTIONS = { [0] = "unknown", "inbound", "outbound" }
local STATUSES = { [0] = "SC", [1] = "UR", [2] = "RRS", [4] = "CA" }

-- By Fmt and Type: kind, class, family (PCIe base specification, table 2-3).
local TYPES = {}
local function types(kind, class, family, ...)
    for _, code in ipairs({ ... }) do
        TYPES[code] = { kind = kind, class = class, family = family }
    end
end
types("MRd", "NP", "memory", 0x00, 0x20)
types("MRdLk", "NP", "memory", 0x01, 0x21)
types("MWr", "P", "memory", 0x40, 0x60)
types("DMWr", "NP", "memory", 0x5B, 0x7B)
types("IORd", "NP", "io", 0x02)
types("IOWr", "NP", "io", 0x42)
types("CfgRd0", "NP", "config", 0x04)
types("CfgWr0", "NP", "config", 0x44)
types("CfgRd1", "NP", "config", 0x05)
types("CfgWr1", "NP", "config", 0x45)
types("TCfgRd", "NP", "config", 0x1B)
types("Cpl", "CPL", "completion", 0x0A)
types("CplD", "CPL", "completion", 0x4A)
types("CplLk", "CPL", "completion", 0x0B)
types("CplDLk", "CPL", "completion", 0x4B)
types("FetchAdd", "NP", "atomic", 0x4C, 0x6C)
types("Swap", "NP", "atomic", 0x4D, 0x6D)
types("CAS", "NP", "atomic", 0x4E, 0x6E)
for route = 0, 7 do
    types("Msg", "P", "message", 0x30 + route)
    types("MsgD", "P", "message", 0x70 + route)
end

-- Bits of a number of 32 bits. Arithmetic, since libraries of bits differ from one Lua to the next.
local function bits(number, low, width)
    return math.floor(math.floor(number / 2 ^ low) % 2 ^ width)
end

local function id_text(id)
    return string.format("%02x:%02x.%x", bits(id, 8, 8), bits(id, 3, 5), bits(id, 0, 3))
end

-- Names of PCI functions, by the description of the interface: "...; names: 01:00.0=nvme0 02:00.0=eth1".
local names_by_text = {}
local function names_of(text)
    local names = names_by_text[text]
    if names == nil then
        names = {}
        for id, name in string.gmatch(string.match(text, "; names: (.*)") or "", "(%x%x:%x%x%.%x)=(%S+)") do
            names[id] = name
        end
        names_by_text[text] = names
    end
    return names
end

-- Requests and completions, by packet number; filled in while the packets are first seen, in order.
-- An epoch ends where a packet says that records may be missing before it: nothing is linked across that, and no time is known.
local open, request_of, completions_of, reused, ticks_of, epochs
function pcie.init()
    open, request_of, completions_of, reused, ticks_of, epochs = {}, {}, {}, {}, {}, {}
    names_by_text = {}
end

-- Disabled bytes of a request: all of a write, those at both ends of a read.
local function disabled(first, last, length, write)
    local count = 0
    if write then
        for bit = 0, 3 do
            count = count + 1 - bits(first, bit, 1)
            if length > 1 then count = count + 1 - bits(last, bit, 1) end
        end
        return count
    end
    local tail = length > 1 and last or first
    if length == 1 and first == 0 then return 4 end
    for bit = 0, 3 do
        if bits(first, bit, 1) == 1 then break end
        count = count + 1
    end
    for bit = 3, 0, -1 do
        if bits(tail, bit, 1) == 1 then break end
        count = count + 1
    end
    return count
end

local dissect_header

local function dissect(tvb, pinfo, tree)
    local size = tvb(4, 1):uint()
    if size < 56 or tvb:captured_len() < size + 16 and tvb:captured_len() < size + 12 then return 0 end
    pinfo.cols.protocol = "PCIe TLP"
    local root = tree:add(pcie, tvb())
    local flags = tvb(8, 4):uint()
    local record = {
        valid = bits(flags, 0, 1) == 1,
        layout = tvb(5, 1):uint(),
        time = tvb(36, 4):uint(),
        so = bits(flags, 3, 1),
        prefix = bits(flags, 2, 1) == 1 and tvb(48, 4):uint() or nil,
        ticks = bits(flags, 4, 1) == 1 and tvb(40, 8):uint64() or nil,
    }
    if not pinfo.visited then
        local interface = interface_id()
        record.interface = interface and tostring(interface) or ""
        record.epoch = (epochs[record.interface] or 0) + bits(flags, 5, 1)
        epochs[record.interface] = record.epoch
    end
    record.eight = record.layout % 2 == 1
    record.v1 = record.layout >= 2
    local pseudo = root:add(pcie, tvb(0, size), "Record")
    pseudo:add(f.index, tvb(16, 8))
    pseudo:add(f.offset, tvb(24, 8))
    if bits(flags, 1, 1) == 1 then pseudo:add(f.cpu, tvb(32, 4)) end
    if record.valid then pseudo:add(f.time, tvb(36, 4)) end
    if record.ticks then pseudo:add(f.ticks, tvb(40, 8)) end
    pseudo:add(f.layout, tvb(5, 1), LAYOUTS[record.layout] or "unknown")
    local direction = DIRECTIONS[tvb(6, 1):uint()]
    if direction then pseudo:add(f.direction, tvb(6, 1), direction) end
    local absent = tvb(12, 4):uint()
    if absent ~= 0 then pseudo:add(f.absent_bits, tvb(12, 4)) end
    dissect_header(tvb, pinfo, root, size, record)
    return tvb:captured_len()
end

function dissect_header(tvb, pinfo, tree, at, record)
    local range = { [0] = tvb(at, 4), tvb(at + 4, 4), tvb(at + 8, 4), tvb:captured_len() >= at + 16 and tvb(at + 12, 4) or tvb(52, 4) }
    local dw = {}
    for number = 0, 3 do dw[number] = range[number]:uint() end
    -- DW 0 as the record has it: 4DW records have their own order of the bits.
    local raw = dw[0]
    if not record.eight then
        raw = bits(dw[0], 29, 2) * 2 ^ 30 + bits(dw[0], 24, 5) * 2 ^ 25 + bits(dw[0], 23, 1) * 2 ^ 24 + bits(dw[0], 19, 1) * 2 ^ 23
            + bits(dw[0], 16, 1) * 2 ^ 22 + record.so * 2 ^ 21 + bits(dw[0], 0, 10) * 2 ^ 11 + record.time
        raw = math.floor(raw)
    end
    local words = tree:add(pcie, tvb(at), "Header DWs")
    words:add(f.dw0, range[0], raw)
    for number = 1, 3 do words:add(f["dw" .. number], range[number]) end

    local code = bits(dw[0], 24, 8)
    local known = record.valid and TYPES[code] or nil
    local kind = known and known.kind or "Unknown"
    tree:add(f.kind, range[0], kind)
    local length = bits(dw[0], 0, 10)
    if length == 0 then length = 1024 end
    if record.valid then tree:add(f.length_dw, range[0], length) end
    if record.valid and record.prefix then tree:add(f.prefix, tvb(48, 4)) end
    if not known then
        tree:add_proto_expert_info(record.valid and odd.unknown or odd.invalid)
        pinfo.cols.info = string.format("%s %08x %08x %08x %08x", kind, raw, dw[1], dw[2], dw[3])
        return
    end

    local family = known.family
    local four = bits(code, 5, 1) == 1
    local data = bits(code, 6, 1) == 1
    local th = bits(dw[0], 16, 1) == 1
    local memory = family == "memory" or family == "atomic"
    local payload = data and 4 * length or 0
    tree:add(f.class, range[0], known.class)
    tree:add(f.payload_bytes, range[0], payload)

    local names = {}
    local text = interface_text()
    if text then names = names_of(text.value) end
    local function add_id(name, where, id)
        local shown = id_text(id)
        tree:add(f[name], where, shown)
        local known_name = names[shown]
        if known_name then
            tree:add(f[name .. "_name"], where, known_name):set_generated()
            return shown .. " " .. known_name
        end
        return shown
    end

    -- Requester ID and tag are in DW 2 of completions, in DW 1 of all others.
    local holder = family == "completion" and 2 or 1
    local requester_id = bits(dw[holder], 16, 16)
    local requester = add_id("requester", range[holder], requester_id)
    local tag = bits(dw[0], 23, 1) * 512 + bits(dw[0], 19, 1) * 256 + bits(dw[holder], 8, 8)
    local segment
    if record.v1 and family ~= "message" then
        if memory and four then
            segment = bits(dw[2], 23, 8)
            tag = tag + bits(dw[2], 16, 4) * 1024
        elseif family == "config" then
            segment = bits(dw[3], 23, 8)
            tag = tag + bits(dw[3], 16, 4) * 1024
        else
            segment = bits(dw[3], 24, 8)
            tag = tag + bits(dw[3], 0, 4) * 1024
        end
        tree:add(f.segment, (memory and four) and range[2] or range[3], segment)
    end
    local steered_tag = family == "memory" and th and kind == "MWr"
    local steered_enables = family == "memory" and th and (kind == "MRd" or kind == "DMWr")
    if not steered_tag then tree:add(f.tag, range[holder], math.floor(tag)) end

    local target, details = "", ""
    local first, last
    if (family == "memory" and not steered_enables) or family == "io" or family == "config" then
        first, last = bits(dw[1], 0, 4), bits(dw[1], 4, 4)
        tree:add(f.first_be, range[1], first)
        tree:add(f.last_be, range[1], last)
    end
    if family ~= "completion" and family ~= "message" then
        local requested = 4 * length
        if kind == "CAS" then
            requested = 2 * length
        elseif first then
            requested = requested - disabled(first, last, length, data)
        end
        tree:add(f.requested_bytes, range[0], requested)
    end
    if memory or family == "io" then
        local low = four and dw[3] or dw[2]
        local high = 0
        if four then high = record.v1 and bits(dw[2], 0, 16) or dw[2] end
        local address = UInt64.new(low - low % 4, high)
        tree:add(f.address, four and tvb(at + 8, 8) or range[2], address)
        target = "0x" .. string.gsub(address:tohex(), "^0+(%x)", "%1")
    end
    if memory then
        if record.eight then tree:add(f.at, range[0], bits(dw[0], 10, 2)) end
        if th then tree:add(f.ph, four and range[3] or range[2], bits(four and dw[3] or dw[2], 0, 2)) end
    end
    if steered_tag or steered_enables then
        local st = steered_tag and bits(dw[1], 8, 8) or bits(dw[1], 0, 8)
        local high = 0
        if record.v1 and not four then high = bits(dw[3], 16, 8) end
        if record.eight and record.prefix and bits(record.prefix, 24, 8) == 0x90 then high = bits(record.prefix, 16, 8) end
        tree:add(f.st, range[1], math.floor(high * 256 + st))
    end
    if family == "config" then
        target = add_id("destination", range[2], bits(dw[2], 16, 16))
        local register = 4 * bits(dw[2], 2, 10)
        tree:add(f.register, range[2], register)
        details = string.format("register 0x%x", register)
    end
    local status, byte_count, lower
    if family == "completion" then
        target = add_id("completer", range[1], bits(dw[1], 16, 16))
        status = STATUSES[bits(dw[1], 13, 3)] or "reserved"
        byte_count = bits(dw[1], 0, 12)
        if byte_count == 0 then byte_count = 4096 end
        lower = bits(dw[2], 0, 7)
        tree:add(f.status, range[1], status)
        tree:add(f.byte_count, range[1], byte_count)
        tree:add(f.bcm, range[1], bits(dw[1], 12, 1))
        tree:add(f.lower_address, range[2], lower)
        if record.v1 then tree:add(f.completer_segment, range[3], bits(dw[3], 16, 8)) end
        if odd[status] then tree:add_proto_expert_info(odd[status]) end
        details = status
    end
    if family == "message" then
        local routing = bits(code, 0, 3)
        tree:add(f.message, range[1], bits(dw[1], 0, 8))
        tree:add(f.routing, range[0], routing)
        if routing == 2 then target = add_id("destination", range[2], bits(dw[2], 16, 16)) end
        details = string.format("message 0x%02x", bits(dw[1], 0, 8))
    end

    tree:add(f.th, range[0], th and 1 or 0)
    if record.eight then
        tree:add(f.tc, range[0], bits(dw[0], 20, 3))
        tree:add(f.attr, range[0], bits(dw[0], 18, 1) * 4 + bits(dw[0], 12, 2))
        tree:add(f.td, range[0], bits(dw[0], 15, 1))
        tree:add(f.ep, range[0], bits(dw[0], 14, 1))
        tree:add(f.ln, range[0], bits(dw[0], 17, 1))
        if bits(dw[0], 14, 1) == 1 then tree:add_proto_expert_info(odd.poisoned) end
    else
        tree:add(f.so, range[0], record.so)
    end

    -- Requests and their completions.
    local number = pinfo.number
    if not pinfo.visited then
        local key = string.format("%s %d %d %d %d", record.interface, record.epoch, segment or 0, requester_id, tag)
        local asked = open[key]
        if known.class == "NP" then
            if asked then reused[number] = true end
            local most = (family == "io" or family == "config") and 4 or 4 * length
            open[key] = { number = number, came = 0, most = most }
            ticks_of[number] = record.ticks
        elseif family == "completion" and asked then
            local brings = data and status == "SC"
            local room = 4 * length - lower % 4
            if brings and asked.came + byte_count > asked.most then
                open[key] = nil -- more than was asked for: it answers another request, which is not recorded
            else
                request_of[number] = asked.number
                local found = completions_of[asked.number] or {}
                completions_of[asked.number] = found
                found[#found + 1] = number
                -- The last one: without data, an error, or with all bytes that were still to come.
                if not brings or byte_count <= room then
                    open[key] = nil
                else
                    asked.came = asked.came + room
                end
            end
        end
    end
    for _, completion in ipairs(completions_of[number] or {}) do
        tree:add(f.completion_in, completion):set_generated()
    end
    if reused[number] then tree:add_proto_expert_info(odd.reused) end
    local request = request_of[number]
    if request then
        tree:add(f.request_in, request):set_generated()
        if record.ticks and ticks_of[request] then
            tree:add(f.completion_time, record.ticks - ticks_of[request]):set_generated()
        end
    end

    pinfo.cols.src = family == "completion" and target or requester
    pinfo.cols.dst = family == "completion" and requester or target
    local info = { kind }
    if family ~= "completion" and target ~= "" then info[#info + 1] = target end
    if payload > 0 then
        info[#info + 1] = payload .. " bytes"
    elseif kind == "MRd" or kind == "MRdLk" then
        info[#info + 1] = "of " .. 4 * length .. " bytes"
    end
    if not steered_tag then info[#info + 1] = "tag " .. math.floor(tag) end
    if details ~= "" then info[#info + 1] = details end
    if family == "completion" and data then
        local left = byte_count - (4 * length - lower % 4)
        info[#info + 1] = left > 0 and left .. " bytes to come" or "last"
    end
    pinfo.cols.info = table.concat(info, " ")
    tree:append_text(", " .. table.concat(info, " "))
end

-- What else is of this link type, goes to whoever had it before.
local encapsulations = DissectorTable.get("wtap_encap")
local before = encapsulations:get_dissector(wtap.USER0)

function pcie.dissector(tvb, pinfo, tree)
    if tvb:captured_len() >= 56 and tvb(0, 3):string() == "PTT" and tvb(3, 1):uint() == VERSION then
        return dissect(tvb, pinfo, tree)
    end
    if before then return before:call(tvb, pinfo, tree) end
    return 0
end

encapsulations:add(wtap.USER0, pcie)
