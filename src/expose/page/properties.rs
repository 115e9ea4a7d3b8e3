//! The query of the status page.

use proptest::prelude::*;

use super::request::{Filter, PageRequest};
use crate::testing::{cases, hostile, mutation::mutated};

const TOKENS: &[&str] = &[
    "&",
    "=",
    "%",
    "%00",
    "%ff",
    "%22",
    "+",
    "state=stalled",
    "state=idle",
    "state=",
    "page=0",
    "page=99999999999999999999",
    "page=-1",
    "page=2",
    "q=",
    "q=%3Cscript",
    "source=",
    "lease=",
    "\"><script>",
    "é",
    "\u{202e}",
    "javascript:",
    "//host/",
];

fn queries() -> impl Strategy<Value = String> {
    let known = ["state=idle&state=stalled&q=caf%C3%A9&page=3", "source=s&lease=l%2Fm", "q=a&source=b+c&x=y"];
    prop_oneof![4 => mutated(&known, TOKENS), 1 => hostile::text()]
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn link_of_a_view_leads_to_the_same_view(query in queries(), leases in 0_usize..5_000) {
        let (list, live) = (PageRequest::list(&query), PageRequest::live(&query));
        for view in [&list, &live] {
            let (path, link_query) =
                view.live_link().split_once('?').map(|(path, query)| (path.to_owned(), query.to_owned())).unwrap();
            prop_assert_eq!(path, "live");
            // The link stands in an attribute and must not leave the pages of the exporter.
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"*-._%+&=".contains(&byte);
            prop_assert!(link_query.bytes().all(is_plain), "{link_query}");
            let understood = match view.clone() {
                PageRequest::List(mut filter) => {
                    filter.ignored.clear();
                    PageRequest::List(filter)
                }
                lease @ PageRequest::Lease { .. } => lease,
            };
            prop_assert_eq!(PageRequest::live(&link_query), understood);
        }
        let PageRequest::List(filter) = list else { unreachable!() };
        let (page, pages): (usize, usize) = Filter::page_of(&filter, leases);
        prop_assert!(page < pages && pages == leases.div_ceil(100).max(1));
    }
}
