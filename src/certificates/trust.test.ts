import { expect, test } from "vitest";
import { asSigner, hasSigned, isSameSigner, namerOf, vouches } from "#certificates/trust.ts";
import { bundle, CORP, NEXT, OWN, RENEWED } from "#kit/snapshots/cluster-tls.ts";

const by = ({ id }: typeof OWN, trust: string) => ({ signerId: id, trust });
const unknown = (trust: string) => ({ signerId: undefined, trust });
const seen = ({ id }: typeof OWN, trust: string) => ({ fingerprint: id, trust });

test("a bundle contains a CA if it has any certificate with the same name and key", () => {
  const isNamedIn = namerOf(by(CORP, bundle(OWN, CORP)));
  expect([CORP, RENEWED, OWN].map(({ pem }) => isNamedIn(pem))).toEqual([true, true, false]);
  expect([isNamedIn(bundle(OWN, RENEWED)), isNamedIn("")]).toEqual([true, false]);
  expect(vouches(bundle(RENEWED), by(CORP, CORP.pem))).toBe(true);
});

test("no bundle covers a certificate with an unknown signer", () => {
  expect(vouches(bundle(OWN), unknown(bundle(OWN)))).toBe(false);
  expect(vouches(bundle(OWN), by(OWN, bundle(NEXT)))).toBe(false);
});

test("two certificates of the same CA, one of them renewed, count as the same signer", () => {
  const both = bundle(CORP, RENEWED);
  expect(hasSigned(seen(RENEWED, both), by(CORP, both))).toBe(true);
  expect(hasSigned(seen(RENEWED, RENEWED.pem), by(CORP, CORP.pem))).toBe(true);
  expect(isSameSigner(by(OWN, ""), by(OWN, ""))).toBe(true);
  expect(hasSigned(seen(NEXT, bundle(NEXT, OWN)), by(OWN, bundle(NEXT, OWN)))).toBe(false);
  expect(isSameSigner(by(OWN, bundle(OWN)), by(NEXT, bundle(OWN)))).toBe(false);
});

test("an unknown signer is the same as no other signer", () => {
  expect(isSameSigner(unknown(OWN.pem), unknown(OWN.pem))).toBe(false);
  expect(isSameSigner(by(OWN, OWN.pem), unknown(OWN.pem))).toBe(false);
  expect(hasSigned(seen(OWN, OWN.pem), undefined)).toBe(false);
  expect(asSigner(seen(OWN, OWN.pem))).toEqual(by(OWN, OWN.pem));
});
