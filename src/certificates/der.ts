import type { X509Certificate } from "node:crypto";

// What does a certificate say byte by byte?
//   etcd compares the names of who has signed and of an authority so, and takes two ways to write one name for two names. OpenSSL, and with it Node,
//   takes them for one.

/** One element of DER. */
interface Element {
  readonly tag: number;
  readonly value: Buffer;
  /** With its tag and length. */
  readonly whole: Buffer;
}

const NOTHING = Buffer.alloc(0);
/** The optional version of a certificate, and its extensions. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
/** A length of a gigabyte has four bytes. */
const LONGEST_LENGTH = 4;

/** What stands side by side. It ends where something is no DER. */
function elementsIn(der: Buffer): readonly Element[] {
  const all: Element[] = [];
  for (let rest = der; rest.length >= 2; ) {
    const [tag = 0, first = 0] = rest;
    const size = first < 0x80 ? 0 : first & 0x7f;
    if (size > LONGEST_LENGTH || rest.length < 2 + size) break;
    const start = 2 + size;
    const end = start + (size === 0 ? first : rest.readUIntBE(2, size));
    all.push({ tag, value: rest.subarray(start, end), whole: rest.subarray(0, end) });
    rest = rest.subarray(end);
  }
  return all;
}

function fieldsOf({ raw }: X509Certificate): readonly Element[] {
  const [certificate] = elementsIn(raw);
  const [signed] = elementsIn(certificate?.value ?? NOTHING);
  return elementsIn(signed?.value ?? NOTHING);
}

/** Who has signed a certificate, and whose it is: their names as they are written. */
export function writtenNames(certificate: X509Certificate): { readonly issuer: Buffer; readonly subject: Buffer } {
  const fields = fieldsOf(certificate).filter(({ tag }) => tag !== VERSION);
  const [, , issuer, , subject] = fields;
  return { issuer: issuer?.whole ?? NOTHING, subject: subject?.whole ?? NOTHING };
}

/** Its extensions: what each says, by the DER of its OID without tag and length, in hexadecimal. */
export function extensionsOf(certificate: X509Certificate): ReadonlyMap<string, Buffer> {
  const found = fieldsOf(certificate).find(({ tag }) => tag === EXTENSIONS);
  const [list] = elementsIn(found?.value ?? NOTHING);
  return new Map(
    elementsIn(list?.value ?? NOTHING).map(({ value }) => {
      const parts = elementsIn(value);
      return [parts[0]?.value.toString("hex") ?? "", parts.at(-1)?.value ?? NOTHING];
    }),
  );
}
