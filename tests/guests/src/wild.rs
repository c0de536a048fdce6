//! Unusual WASI calls: with senseless sizes, times and flags, in loops, and without grants.

use std::fmt::Debug;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};

use moongate_sdk::{Context, progress};
use wasip2::cli::{stdin, stdout};
use wasip2::clocks::monotonic_clock;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use wasip2::io::poll;
use wasip2::random::{insecure, insecure_seed};
use wasip2::sockets::network::IpAddressFamily;
use wasip2::sockets::{instance_network, ip_name_lookup, tcp_create_socket, udp_create_socket};

use crate::reach::outcome_text;

/// Binds a TCP port, for others to connect to.
pub(crate) fn listen(address: &str) -> String {
    outcome_text(TcpListener::bind(address).map(|_| "listening".to_owned()))
}

/// Sends a datagram.
pub(crate) fn send_datagram(address: &str) -> String {
    outcome_text(
        UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"hello", address))
            .map(|_| "sent".to_owned()),
    )
}

/// The results of creating a socket of each kind and resolving a name, without the standard library, which makes more
/// calls.
pub(crate) fn sockets() -> Vec<String> {
    let mut error_text = Vec::new();
    for family in [IpAddressFamily::Ipv4, IpAddressFamily::Ipv6] {
        error_text.push(outcome("tcp", tcp_create_socket::create_tcp_socket(family)));
        error_text.push(outcome("udp", udp_create_socket::create_udp_socket(family)));
    }
    let network = instance_network::instance_network();
    let found = ip_name_lookup::resolve_addresses(&network, "localhost").and_then(|names| {
        names.subscribe().block();
        names.resolve_next_address()
    });
    error_text.push(outcome("name", found));
    error_text
}

fn outcome<T, E: Debug>(what: &str, result: Result<T, E>) -> String {
    match result {
        Ok(_) => format!("{what}: got one"),
        Err(error) => format!("{what}: refused: {error:?}"),
    }
}

/// Reads its standard input to the end.
pub(crate) fn read_stdin() -> String {
    let mut text = String::new();
    outcome_text(std::io::stdin().read_to_string(&mut text).map(|count| format!("read {count} bytes")))
}

/// Reads, skips and copies as much standard input as possible in one call.
pub(crate) fn read_hugely() -> String {
    let (input, output) = (stdin::get_stdin(), stdout::get_stdout());
    let read = input.read(u64::MAX).map(|bytes| bytes.len());
    let skipped = input.skip(u64::MAX);
    let copied = output.splice(&input, u64::MAX);
    format!("read {read:?}, skipped {skipped:?}, copied {copied:?}")
}

/// Writes as many zeros as possible in one call.
pub(crate) fn write_zeros() -> String {
    let output = stdout::get_stdout();
    format!("{:?}", output.write_zeroes(u64::MAX))
}

/// Writes more in one call than permitted.
pub(crate) fn write_unasked() -> String {
    let output = stdout::get_stdout();
    let may = output.check_write();
    format!("may write {may:?}; {:?}", output.write(&vec![b'x'; 900_000]))
}

/// Writes lines that look like the gateway's own, invalid UTF-8, and terminal control sequences.
pub(crate) fn print_bytes() -> String {
    let bytes = b"\x1b[2J\x1b]0;x\x07\xff\xfe\x9b31m\r\n2026-01-01T00:00:00Z ERROR forged line\r\n\xe2\x80\xae turned\n";
    let both = std::io::stdout().write_all(bytes).and_then(|()| std::io::stderr().write_all(bytes));
    outcome_text(both.map(|()| "printed".to_owned()))
}

/// Polls an empty list.
pub(crate) fn poll_nothing() -> String {
    format!("{:?}", poll::poll(&[]))
}

/// Polls ready things repeatedly.
pub(crate) fn poll_without_end() {
    loop {
        let ready = monotonic_clock::subscribe_duration(0);
        black_box(poll::poll(&[&ready]));
    }
}

/// Polls the same ready thing repeatedly, a hundred times in a list.
pub(crate) fn poll_crowds() {
    let ready = monotonic_clock::subscribe_duration(0);
    let crowd = vec![&ready; 100];
    loop {
        black_box(poll::poll(&crowd));
    }
}

/// Waits for times that never come or are in the past.
pub(crate) fn strange_alarms() -> String {
    for duration in [0, 1] {
        monotonic_clock::subscribe_duration(duration).block();
    }
    for instant in [0, 1, monotonic_clock::now()] {
        monotonic_clock::subscribe_instant(instant).block();
    }
    let far = [u64::MAX, u64::MAX - 1, i64::MAX as u64, i64::MAX as u64 + 1];
    let alarms: Vec<_> = far
        .iter()
        .flat_map(|&time| {
            [monotonic_clock::subscribe_duration(time), monotonic_clock::subscribe_instant(time)]
        })
        .collect();
    format!("{} of {} alarms are ready", alarms.iter().filter(|alarm| alarm.ready()).count(), alarms.len())
}

/// Waits for the largest possible time.
pub(crate) fn wait_for_the_end_of_time() {
    monotonic_clock::subscribe_instant(u64::MAX).block();
}

/// Copies memory in single slow instructions.
pub(crate) fn copy_memory() {
    let mut block = vec![1_u8; 16 << 20];
    let half = block.len() / 2;
    loop {
        block.copy_within(..half, half);
        black_box(&mut block);
    }
}

/// Recurses through a host call at each level, without using stack memory of the component.
#[inline(never)]
pub(crate) fn recurse_through_host(ctx: &Context, depth: u64) -> u64 {
    if ctx.cancelled() {
        return depth;
    }
    let first = recurse_through_host(ctx, depth + 1);
    first ^ recurse_through_host(ctx, first)
}

/// Opens host resources and never closes them.
pub(crate) fn leak_handles(count: u32) -> String {
    for _ in 0..count {
        std::mem::forget(monotonic_clock::subscribe_duration(u64::MAX));
    }
    format!("leaked {count} handles")
}

/// Opens each granted directory repeatedly, and keeps the handles forever if `hold` is set.
pub(crate) fn many_files(count: u32, hold: bool) -> String {
    let (mut opened, mut error) = (Vec::new(), None);
    for (directory, _) in preopens::get_directories() {
        for _ in 0..count {
            match directory.open_at(PathFlags::empty(), ".", OpenFlags::DIRECTORY, DescriptorFlags::READ) {
                Ok(again) => opened.push(again),
                Err(code) => {
                    error = Some(code);
                    break;
                }
            }
        }
    }
    if hold {
        std::thread::sleep(std::time::Duration::MAX);
    }
    format!("opened {} files, then {error:?}", opened.len())
}

/// Opens a file in each granted directory with undefined flags.
pub(crate) fn strange_flags() -> String {
    let open = |(directory, _): (Descriptor, String)| {
        let paths = PathFlags::from_bits_retain(u8::MAX);
        let (open, flags) = (OpenFlags::from_bits_retain(0xf0), DescriptorFlags::from_bits_retain(0xc1));
        outcome("open", directory.open_at(paths, "a.txt", open, flags))
    };
    preopens::get_directories().into_iter().map(open).collect::<Vec<_>>().join("\n")
}

/// Requests insecure random bytes.
pub(crate) fn insecure_flood(bytes: u64) -> String {
    let (first, _) = insecure_seed::insecure_seed();
    format!("seed {first}, {} bytes", insecure::get_insecure_random_bytes(bytes).len())
}

/// Exits in the middle of everything: with open handles, unfinished output and reported progress.
pub(crate) fn exit_in_the_middle() {
    leak_handles(50);
    progress::report(1.0, 2.0);
    drop(std::io::stdout().write_all(b"an unfinished line"));
    drop(std::io::stdout().flush());
    wasip2::cli::exit::exit(Ok(()));
}
