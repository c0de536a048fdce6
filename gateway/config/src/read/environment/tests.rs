//! The values of `TZ`.

use super::time_zone;

#[test]
fn tz_in_every_posix_form_is_a_zone_name() {
    let machine = || Some("Asia/Tokyo".to_owned());
    for (variable, name) in [
        ("Europe/Oslo", "Europe/Oslo"),
        (":Europe/Oslo", "Europe/Oslo"),
        ("/usr/share/zoneinfo/Europe/Oslo", "Europe/Oslo"),
        (":/usr/share/zoneinfo/Europe/Oslo", "Europe/Oslo"),
        ("/usr/share/zoneinfo/posix/America/Argentina/Ushuaia", "America/Argentina/Ushuaia"),
        ("/usr/share/zoneinfo/right/UTC", "UTC"),
        ("/var/db/timezone/zoneinfo/Europe/Oslo", "Europe/Oslo"),
        ("", "Asia/Tokyo"),
        (":", "Asia/Tokyo"),
        ("/etc/localtime", "Asia/Tokyo"),
        (":/etc/localtime", "Asia/Tokyo"),
        ("/usr/share/zoneinfo/localtime", "Asia/Tokyo"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ] {
        assert_eq!(time_zone(variable, machine), name, "{variable}");
    }
    assert_eq!(time_zone("", || None), "UTC");
}
