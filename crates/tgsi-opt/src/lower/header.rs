//! The header of the result: the interface as it was, registers of our own renewed.

use tgsi::{Decl, File, Item, Program};

/// Replaces TEMP and ADDR declarations and immediates of the input's header.
pub(super) fn header(
    input: &Program,
    temps: u32,
    arrays: &[(u32, u32, u32)],
    addresses: Option<u8>,
    imms: Vec<tgsi::Imm>,
) -> Vec<Item> {
    let decls = input.header.iter().filter_map(|i| match i {
        Item::Decl(d) => Some(d),
        _ => None,
    });
    let mut local = None;
    for d in decls.filter(|d| d.file == File::Temp && d.array == 0) {
        local = Some(local.unwrap_or(true) && d.local);
    }
    let mut temp_decls: Vec<Item> = Vec::new();
    let used: u32 = arrays.iter().map(|a| a.1).sum();
    for &(base, len, id) in arrays {
        let was = input.header.iter().find_map(|i| match i {
            Item::Decl(d) if d.file == File::Temp && d.array == id => Some(d.local),
            _ => None,
        });
        let d = Decl {
            array: id,
            local: was.unwrap_or(false),
            ..Decl::plain(File::Temp, base as i32, (base + len) as i32 - 1)
        };
        temp_decls.push(Item::Decl(d));
    }
    if temps > used {
        let d = Decl {
            local: local.unwrap_or(false),
            ..Decl::plain(File::Temp, used as i32, temps as i32 - 1)
        };
        temp_decls.push(Item::Decl(d));
    }
    let mut out: Vec<Item> = Vec::with_capacity(input.header.len());
    let mut temp_decls = Some(temp_decls);
    let mut imms = Some(imms);
    let mut address_seen = false;
    for item in &input.header {
        match item {
            Item::Decl(d) if d.file == File::Temp => {
                out.extend(temp_decls.take().into_iter().flatten())
            }
            Item::Decl(d) if d.file == File::Addr => {
                if let Some(last) = addresses
                    && !std::mem::replace(&mut address_seen, true)
                {
                    out.push(Item::Decl(Decl::plain(File::Addr, 0, i32::from(last))));
                }
            }
            Item::Imm(_) => out.extend(imms.take().into_iter().flatten().map(Item::Imm)),
            other => out.push(other.clone()),
        }
    }
    out.extend(temp_decls.into_iter().flatten());
    if let Some(last) = addresses
        && !address_seen
    {
        out.push(Item::Decl(Decl::plain(File::Addr, 0, i32::from(last))));
    }
    out.extend(imms.into_iter().flatten().map(Item::Imm));
    out
}
