import { expect, test } from "vitest";
import { authorityKeyOf, certificatesIn, idOf, parsedIn } from "#certificates/pem.ts";
import { CORP_PEM as CORP, RENEWED_PEM as RENEWED } from "#kit/authorities.ts";
import { newAuthority } from "#kit/authority.ts";

const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

test("each certificate of a text by itself, whatever stands beside it", () => {
  const text = `words\n${broken}${CORP}${RENEWED}${CORP}`;
  expect(parsedIn(text).map(idOf)).toEqual([CORP, RENEWED, CORP].map((each) => idOf(parsedIn(each)[0]!)));
  expect(certificatesIn(`${broken}words`)).toEqual([]);
});

test("one that was asked for a while ago is not read again, and many others push out who was asked for longest ago", async () => {
  const [often, once] = [parsedIn(CORP)[0], parsedIn(RENEWED)[0]];
  expect(parsedIn(`${CORP}${RENEWED}`)).toEqual([often, once]);
  expect(parsedIn(`words${CORP}`)[0]).toBe(often);
  const { pem } = await newAuthority();
  // White space at the end of its first line makes it another text of the same certificate.
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

test("one of very many in one text is read each time", () => {
  const [few, many] = [CORP.repeat(32), CORP.repeat(33)];
  const [known] = parsedIn(CORP);
  expect(parsedIn(few)).toEqual(Array.from({ length: 32 }, () => known));
  expect(parsedIn(few)[0]).toBe(known);
  expect(parsedIn(many)).toHaveLength(33);
  expect(parsedIn(many)[0]).not.toBe(known);
});

test("what begins and never ends is walked over once", () => {
  const endless = "-----BEGIN CERTIFICATE-----\n".repeat(40_000);
  expect(parsedIn(`${CORP}${endless}`)).toHaveLength(1);
  expect(parsedIn(`${CORP}-----BEGIN CERTIFICATE-----\n${RENEWED}`)).toHaveLength(1);
});

test("one that is very long is read each time", async () => {
  const { cert } = await (await newAuthority()).issue("a.".repeat(4_000));
  expect(parsedIn(cert)[0]).not.toBe(parsedIn(cert)[0]);
  expect(parsedIn(cert)).toHaveLength(1);
});
