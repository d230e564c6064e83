//! The events of a file: `struct perf_event_attr`, and how their records are laid out.

use processes::records::Fields;

/// Bits of `sample_type` (`enum perf_event_sample_format`).
pub(crate) mod bits {
    pub(crate) const IP: u64 = 1 << 0;
    pub(crate) const TID: u64 = 1 << 1;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const ADDR: u64 = 1 << 3;
    pub(crate) const READ: u64 = 1 << 4;
    pub(crate) const CALLCHAIN: u64 = 1 << 5;
    pub(crate) const ID: u64 = 1 << 6;
    pub(crate) const CPU: u64 = 1 << 7;
    pub(crate) const PERIOD: u64 = 1 << 8;
    pub(crate) const STREAM_ID: u64 = 1 << 9;
    pub(crate) const RAW: u64 = 1 << 10;
    pub(crate) const BRANCH_STACK: u64 = 1 << 11;
    pub(crate) const REGS_USER: u64 = 1 << 12;
    pub(crate) const STACK_USER: u64 = 1 << 13;
    pub(crate) const IDENTIFIER: u64 = 1 << 16;
}

/// Bits of `read_format`.
const READ_ENABLED: u64 = 1 << 0;
const READ_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

/// PERF_SAMPLE_BRANCH_HW_INDEX.
const BRANCH_HW_INDEX: u64 = 1 << 17;

/// Flags of `struct perf_event_attr`, by their bit.
const INHERIT: u64 = 1 << 1;
const FREQ: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const CONTEXT_SWITCH: u64 = 1 << 26;

/// PERF_TYPE_SOFTWARE, and of its events those that are told apart.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const TASK_CLOCK: u64 = 1;
const DUMMY: u64 = 9;

/// The fields of `struct sample_id`, in their order.
const ID_FIELDS: [u64; 6] = [
    bits::TID,
    bits::TIME,
    bits::ID,
    bits::STREAM_ID,
    bits::CPU,
    bits::IDENTIFIER,
];

/// An event that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// perf's name; empty if the file has none.
    pub(crate) name: String,
    kind: u32,
    config: u64,
    /// The period, or samples in a second.
    rate: u64,
    pub(crate) sample_type: u64,
    read_format: u64,
    flags: u64,
    branch_type: u64,
    /// PERF_SAMPLE_REGS_USER: which registers.
    pub(crate) user_registers: u64,
    /// Bytes of stack in each sample.
    pub(crate) stack_bytes: u32,
    /// The ids in its records.
    pub(crate) ids: Vec<u64>,
}

/// What every record tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Common {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
    /// Nanoseconds of the recording's clock; 0 for records without.
    pub(crate) time: u64,
    pub(crate) cpu: Option<u32>,
}

impl Event {
    /// Of a `struct perf_event_attr`, which may be shorter or longer than today's.
    pub(crate) fn of(attribute: &[u8]) -> Event {
        let mut fields = Fields::new(attribute);
        let (kind, _size) = (fields.u32(), fields.u32());
        let [config, rate, sample_type, read_format, flags] = [(); 5].map(|()| fields.u64());
        // Wakeup, breakpoint, and the second and third word of the configuration.
        fields.slice(24);
        Event {
            kind,
            config,
            rate,
            sample_type,
            read_format,
            flags,
            branch_type: fields.u64(),
            user_registers: fields.u64(),
            stack_bytes: fields.u32(),
            ..Event::default()
        }
    }

    fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Whether its samples are at equal distances of a thread's CPU time.
    pub(crate) fn is_clock(&self) -> bool {
        self.is_sampled() && self.kind == SOFTWARE && matches!(self.config, CPU_CLOCK | TASK_CLOCK)
    }

    /// Whether it makes samples. Else it is only read, at those of its group's leader (`{a,b}:S`).
    pub(crate) fn is_sampled(&self) -> bool {
        self.rate > 0
    }

    /// Whether its values are those of a thread, by which the kernel tells children of an inherited event
    /// apart, which have its id.
    pub(crate) fn is_inherited(&self) -> bool {
        self.flags & INHERIT != 0
    }

    /// Whether the kernel counts the samples that it lost, so that perf writes their number at its end.
    pub(crate) fn counts_lost(&self) -> bool {
        self.read_format & READ_LOST != 0
    }

    /// Whether it only carries records of the side band.
    pub(crate) fn is_dummy(&self) -> bool {
        self.kind == SOFTWARE && self.config == DUMMY
    }

    /// Whether context switches were recorded with it.
    pub(crate) fn has_switches(&self) -> bool {
        self.flags & CONTEXT_SWITCH != 0
    }

    /// The period that was asked for; `None` if perf was given a rate instead.
    pub(crate) fn period(&self) -> Option<u64> {
        (self.flags & FREQ == 0 && self.rate > 0).then_some(self.rate)
    }

    /// Nanoseconds from one sample of a clock to the next.
    pub(crate) fn clock_period(&self) -> u64 {
        self.period()
            .unwrap_or_else(|| 1_000_000_000 / self.rate.max(1))
    }

    /// The name without what a list of metrics cannot hold.
    pub(crate) fn metric_name(&self, number: usize) -> String {
        let name = self.name.as_str();
        // The modifiers of perf-list(1) say in which rings an event is counted.
        let is_modifier = |text: &str| text.bytes().all(|byte| b"ukhGHpPSDIWeb".contains(&byte));
        let name = match name.rsplit_once(':') {
            Some((name, modifier)) if is_modifier(modifier) => name,
            _ => name,
        };
        let allowed = |it: char| match it {
            it if it.is_ascii_alphanumeric() || "-_/,=".contains(it) => it,
            _ => '/',
        };
        let name: String = name.chars().take(80).map(allowed).collect();
        let name = name.trim_start_matches(|it: char| !it.is_ascii_alphanumeric());
        if name.is_empty() {
            format!("event{number}")
        } else {
            name.to_owned()
        }
    }

    /// Bytes of the `struct sample_id` that ends its other records than samples.
    fn id_length(&self) -> usize {
        if self.flags & SAMPLE_ID_ALL == 0 {
            return 0;
        }
        8 * ID_FIELDS.iter().filter(|bit| self.has(**bit)).count()
    }

    /// The id at the begin of a sample's body, or at the end of another record's; `None` if it has none.
    pub(crate) fn id_in(&self, body: &[u8], is_sample: bool) -> Option<u64> {
        let at = |at: usize| Some(Fields::new(body.get(at..)?).u64());
        let before = |bits: &[u64]| 8 * bits.iter().filter(|bit| self.has(**bit)).count();
        match (is_sample, self.has(bits::IDENTIFIER), self.has(bits::ID)) {
            (true, true, _) => at(0),
            (true, _, true) => at(before(&[bits::IP, bits::TID, bits::TIME, bits::ADDR])),
            (false, true, _) if self.id_length() > 0 => at(body.len().checked_sub(8)?),
            (false, _, true) if self.id_length() > 0 => {
                let from_end = before(&[bits::ID, bits::STREAM_ID, bits::CPU]);
                at(body.len().checked_sub(from_end)?)
            }
            _ => None,
        }
    }

    /// The time of a sample.
    pub(crate) fn sample_time(&self, body: &[u8]) -> u64 {
        let before = [bits::IDENTIFIER, bits::IP, bits::TID];
        let at = 8 * before.iter().filter(|bit| self.has(**bit)).count();
        match body.get(at..) {
            Some(rest) if self.has(bits::TIME) => Fields::new(rest).u64(),
            _ => 0,
        }
    }

    /// Divides another record than a sample into its own fields and what every record tells.
    pub(crate) fn split<'a>(&self, body: &'a [u8]) -> (&'a [u8], Common) {
        let Some(own) = body.len().checked_sub(self.id_length()) else {
            return (body, Common::default());
        };
        let (own, id) = body.split_at(own);
        let mut fields = Fields::new(id);
        let mut common = Common::default();
        if !id.is_empty() {
            if self.has(bits::TID) {
                (common.pid, common.tid) = (fields.i32(), fields.i32());
            }
            if self.has(bits::TIME) {
                common.time = fields.u64();
            }
            for bit in [bits::ID, bits::STREAM_ID] {
                if self.has(bit) {
                    fields.u64();
                }
            }
            if self.has(bits::CPU) {
                common.cpu = Some(fields.u32());
            }
        }
        (own, common)
    }

    /// What PERF_SAMPLE_READ put into a sample.
    fn values<'a>(&self, fields: &mut Fields<'a>) -> Values<'a> {
        let format = self.read_format;
        let words = |bits: &[u64]| bits.iter().filter(|bit| format & **bit != 0).count();
        let times = words(&[READ_ENABLED, READ_RUNNING]);
        let more = words(&[READ_ID, READ_LOST]);
        let is_group = format & READ_GROUP != 0;
        let (members, each) = if is_group {
            let members = fields.u64() as usize;
            fields.slice(8 * times);
            (members, 8 * (1 + more))
        } else {
            (1, 8 * (1 + times + more))
        };
        Values {
            bytes: fields.slice(members.saturating_mul(each)),
            each,
            id_at: (format & READ_ID != 0).then_some(if is_group { 8 } else { 8 * (1 + times) }),
        }
    }

    /// Parses the body of a sample.
    pub(crate) fn sample<'a>(&self, body: &'a [u8]) -> RawSample<'a> {
        let mut fields = Fields::new(body);
        let mut sample = RawSample::default();
        let mut word = |bit| self.has(bit).then(|| fields.u64());
        word(bits::IDENTIFIER);
        sample.ip = word(bits::IP);
        if let Some(ids) = word(bits::TID) {
            (sample.common.pid, sample.common.tid) = (ids as i32, (ids >> 32) as i32);
        }
        sample.common.time = word(bits::TIME).unwrap_or(0);
        word(bits::ADDR);
        word(bits::ID);
        word(bits::STREAM_ID);
        sample.common.cpu = word(bits::CPU).map(|cpu| cpu as u32);
        sample.period = word(bits::PERIOD);
        if self.has(bits::READ) {
            sample.values = self.values(&mut fields);
        }
        if self.has(bits::CALLCHAIN) {
            let links = fields.u64() as usize;
            sample.chain = fields.slice(links.saturating_mul(8));
        }
        if self.has(bits::RAW) {
            let length = fields.u32() as usize;
            fields.slice(length);
        }
        if self.has(bits::BRANCH_STACK) {
            let branches = fields.u64() as usize;
            if self.branch_type & BRANCH_HW_INDEX != 0 {
                fields.u64();
            }
            fields.slice(branches.saturating_mul(24));
        }
        if self.has(bits::REGS_USER) {
            sample.abi = fields.u64();
            if sample.abi != 0 {
                let words = self.user_registers.count_ones() as usize;
                sample.registers = fields.slice(8 * words);
            }
        }
        if self.has(bits::STACK_USER) {
            let size = fields.u64() as usize;
            let dump = fields.slice(size);
            if size > 0 {
                // The size that was really copied; the rest of the dump is stale.
                let copied = fields.u64() as usize;
                sample.stack = &dump[..copied.min(dump.len())];
            }
        }
        sample
    }
}

/// A sample, parsed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawSample<'a> {
    pub(crate) common: Common,
    pub(crate) ip: Option<u64>,
    pub(crate) period: Option<u64>,
    /// Of its event, or of all events of its group.
    pub(crate) values: Values<'a>,
    /// Addresses, leaf first, 8 bytes each, with PERF_CONTEXT_* marks between them.
    pub(crate) chain: &'a [u8],
    /// Of the registers: 0 for none, 1 for 32-bit code, 2 for 64-bit code.
    pub(crate) abi: u64,
    /// Those of [`Event::user_registers`], 8 bytes each.
    pub(crate) registers: &'a [u8],
    /// The copied stack, from the stack pointer up.
    pub(crate) stack: &'a [u8],
}

/// Values of events so far (`read_format` of perf_event_open(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values<'a> {
    bytes: &'a [u8],
    /// Bytes of an event, which begin with its value.
    each: usize,
    /// Where the id stands in these.
    id_at: Option<usize>,
}

impl<'a> Values<'a> {
    /// Ids and values; none without ids.
    pub(crate) fn all(self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let of_events = self.bytes.chunks_exact(self.each.max(1));
        of_events.filter_map(move |bytes| {
            let id = Fields::new(bytes.get(self.id_at?..)?).u64();
            Some((id, Fields::new(bytes).u64()))
        })
    }
}
