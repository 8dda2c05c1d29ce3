//! scratch
use tgsi_interp::equiv::*;
fn main() {
    let cases: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let dir = std::path::PathBuf::from("/work/shared/corpus");
    let index = std::fs::read_to_string(dir.join("index.tsv")).unwrap();
    let options = EquivOptions {
        cases,
        special_cases: cases / 4,
        ..Default::default()
    };
    let start = std::time::Instant::now();
    let mut n = 0u64;
    for file in index.lines().skip(1).filter_map(|l| l.split('\t').next()) {
        let (p, _) = tgsi::parse(&std::fs::read_to_string(dir.join(file)).unwrap());
        let t = std::time::Instant::now();
        let r = compare(&p, &p, &options);
        let us = t.elapsed().as_micros();
        n += r.compared_words;
        println!(
            "{file} us={us} run={} limit={} out={} masked={} compared={} mism={} {:?}",
            r.cases_run,
            r.skipped_step_limit,
            r.skipped_out_of_array,
            r.masked_words,
            r.compared_words,
            r.mismatch_count,
            r.mismatches.first()
        );
    }
    eprintln!("{n} words {:?}", start.elapsed());
}
