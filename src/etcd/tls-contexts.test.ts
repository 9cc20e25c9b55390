import { beforeAll, expect, test } from "vitest";
import { newAuthority } from "#kit/authority.ts";
import type { TlsIdentity } from "./endpoint.ts";
import { TlsContexts } from "./tls-contexts.ts";

let us: TlsIdentity;
let other: TlsIdentity;
let stranger: TlsIdentity;

beforeAll(async () => {
  const [ours, theirs] = [await newAuthority(), await newAuthority()];
  us = { ca: ours.pem, ...(await ours.issue("me")), serverName: "db-0.db" };
  other = { ca: ours.pem, ...(await ours.issue("other")), serverName: "db-0.db" };
  stranger = { ca: theirs.pem, cert: us.cert, key: us.key, serverName: "db-0.db" };
});

test("the members of one cluster share a context, whatever name each has to show", () => {
  const contexts = new TlsContexts();
  expect(contexts.of({ ...us, serverName: "db-1.db" })).toBe(contexts.of(us));
});

test("other certificates, and another authority with the same certificate, have a context of their own", () => {
  const contexts = new TlsContexts();
  const all = [us, other, stranger].map((identity) => contexts.of(identity));
  expect(new Set(all).size).toBe(3);
});

test("the last eight are kept", () => {
  const contexts = new TlsContexts();
  const first = contexts.of(us);
  const others = (count: number): void => {
    for (let n = 0; n < count; n++) contexts.of({ ...other, ca: `${other.ca}${"\n".repeat(n + 1)}` });
  };
  others(7);
  expect(contexts.of(us)).toBe(first);
  others(8);
  expect(contexts.of(us)).not.toBe(first);
});

test("the one that makes room is the one that was not used for longest, and not the one that was made first", () => {
  const contexts = new TlsContexts();
  const numbered = (n: number) => contexts.of({ ...other, ca: `${other.ca}${"\n".repeat(n)}` });
  const [oldest, second] = [1, 2, 3, 4, 5, 6, 7, 8].map(numbered);
  expect(numbered(1)).toBe(oldest);
  numbered(9);
  expect(numbered(1)).toBe(oldest);
  expect(numbered(2)).not.toBe(second);
});

test("a key that belongs to another certificate is refused, and what stood before stays", () => {
  const contexts = new TlsContexts();
  const first = contexts.of(us);
  expect(() => contexts.of({ ...us, key: other.key })).toThrow(/key/);
  expect(contexts.of(us)).toBe(first);
});
