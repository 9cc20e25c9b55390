import { beforeAll, expect, test } from "vitest";
import { newAuthority } from "#kit/etcd/authority.ts";
import type { TlsIdentity } from "./endpoint.ts";
import { TlsContexts } from "./tls-contexts.ts";

let us: TlsIdentity;
let other: TlsIdentity;
let unrelated: TlsIdentity;

beforeAll(async () => {
  const [ours, theirs] = [await newAuthority(), await newAuthority()];
  us = { ca: ours.pem, ...(await ours.issue("me")), serverName: "db-0.db" };
  other = { ca: ours.pem, ...(await ours.issue("other")), serverName: "db-0.db" };
  unrelated = { ca: theirs.pem, cert: us.cert, key: us.key, serverName: "db-0.db" };
});

test("the members of one cluster share a TLS context, whatever their server names", () => {
  const contexts = new TlsContexts();
  expect(contexts.of({ ...us, serverName: "db-1.db" })).toBe(contexts.of(us));
});

test("another certificate, or another CA with the same certificate, has a TLS context of its own", () => {
  const contexts = new TlsContexts();
  const all = [us, other, unrelated].map((identity) => contexts.of(identity));
  expect(new Set(all).size).toBe(3);
});

test("the last eight TLS contexts are cached", () => {
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

test("the least recently used TLS context is evicted", () => {
  const contexts = new TlsContexts();
  const numbered = (n: number) => contexts.of({ ...other, ca: `${other.ca}${"\n".repeat(n)}` });
  const [oldest, second] = [1, 2, 3, 4, 5, 6, 7, 8].map(numbered);
  expect(numbered(1)).toBe(oldest);
  numbered(9);
  expect(numbered(1)).toBe(oldest);
  expect(numbered(2)).not.toBe(second);
});

test("a key of another certificate is refused, and cached TLS contexts stay", () => {
  const contexts = new TlsContexts();
  const first = contexts.of(us);
  expect(() => contexts.of({ ...us, key: other.key })).toThrow(/key/);
  expect(contexts.of(us)).toBe(first);
});
