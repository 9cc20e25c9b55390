import { expect, test } from "vitest";
import { authorityKeyOf, certificatesIn, idOf, parsedIn } from "#certificates/pem.ts";
import { newAuthority } from "#kit/etcd/authority.ts";
import { CORP_PEM as CORP, RENEWED_PEM as RENEWED } from "#kit/tables/authorities.ts";

const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

test("parsedIn returns each valid certificate of a text and skips all other content", () => {
  const text = `words\n${broken}${CORP}${RENEWED}${CORP}`;
  expect(parsedIn(text).map(idOf)).toEqual([CORP, RENEWED, CORP].map((each) => idOf(parsedIn(each)[0]!)));
  expect(certificatesIn(`${broken}words`)).toEqual([]);
});

test("a certificate in the cache is not parsed again, and the least recently used one is evicted", async () => {
  const [often, once] = [parsedIn(CORP)[0], parsedIn(RENEWED)[0]];
  expect(parsedIn(`${CORP}${RENEWED}`)).toEqual([often, once]);
  expect(parsedIn(`words${CORP}`)[0]).toBe(often);
  const { pem } = await newAuthority();
  // Trailing white space in the first line changes the text but not the certificate.
  const others = Array.from({ length: 260 }, (_, n) => {
    const [spaces, tabs] = [" ".repeat(n % 20), "\t".repeat(Math.floor(n / 20))];
    return pem.replace("CERTIFICATE-----\n", `CERTIFICATE-----${spaces}${tabs}\n`);
  });
  for (const text of others) {
    expect(parsedIn(text)).toHaveLength(1);
    expect(parsedIn(CORP)[0]).toBe(often);
  }
  expect(parsedIn(RENEWED)[0]).not.toBe(once);
  expect(authorityKeyOf(parsedIn(RENEWED)[0]!)).toBe(authorityKeyOf(once!));
});

test("certificates are not cached when a text has more than 32", () => {
  const [few, many] = [CORP.repeat(32), CORP.repeat(33)];
  const [known] = parsedIn(CORP);
  expect(parsedIn(few)).toEqual(Array.from({ length: 32 }, () => known));
  expect(parsedIn(few)[0]).toBe(known);
  expect(parsedIn(many)).toHaveLength(33);
  expect(parsedIn(many)[0]).not.toBe(known);
});

test("blocks without an end are scanned only once", () => {
  const endless = "-----BEGIN CERTIFICATE-----\n".repeat(40_000);
  expect(parsedIn(`${CORP}${endless}`)).toHaveLength(1);
  expect(parsedIn(`${CORP}-----BEGIN CERTIFICATE-----\n${RENEWED}`)).toHaveLength(1);
});

test("a very long certificate is not cached", async () => {
  const { cert } = await (await newAuthority()).issue("a.".repeat(4_000));
  expect(parsedIn(cert)[0]).not.toBe(parsedIn(cert)[0]);
  expect(parsedIn(cert)).toHaveLength(1);
});
