import { expect, test } from "vitest";
import type { ErrorCode } from "#base/error.ts";
import { fromRefusal, parseStatus, type Refusal, retryAfterMs, type Status } from "./error.ts";

function refusal(httpCode: number, status?: Omit<Status, "kind">): Refusal {
  return {
    call: "get pods default/x",
    httpCode,
    status: status && { kind: "Status", ...status },
    text: "page not found",
  };
}

const rbac =
  'pods is forbidden: User "system:serviceaccount:a:b" cannot list resource "pods" in API group "" in the namespace "x"';
const quota = 'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1';
const uidCause = [{ reason: "FieldValueInvalid", field: "metadata.uid", message: "field is immutable" }];
const cases: { name: string; given: Refusal; expect: ErrorCode }[] = [
  { name: "a bad request", given: refusal(400, { reason: "BadRequest" }), expect: "KubeInvalid" },
  { name: "an object that violates its schema", given: refusal(422, { reason: "Invalid" }), expect: "KubeInvalid" },
  { name: "an unsupported media type", given: refusal(415), expect: "KubeInvalid" },
  {
    name: "a patch for another uid",
    given: refusal(422, { reason: "Invalid", details: { causes: uidCause } }),
    expect: "KubeConflict",
  },
  { name: "an unknown user", given: refusal(401, { reason: "Unauthorized" }), expect: "KubeForbidden" },
  { name: "missing rights", given: refusal(403, { reason: "Forbidden", message: rbac }), expect: "KubeForbidden" },
  { name: "an exceeded quota", given: refusal(403, { reason: "Forbidden", message: quota }), expect: "KubeInvalid" },
  { name: "a 403 by a proxy", given: refusal(403), expect: "KubeForbidden" },
  {
    name: "an object that does not exist",
    given: refusal(404, { reason: "NotFound", details: { name: "x" } }),
    expect: "KubeNotFound",
  },
  { name: "a kind that is not served", given: refusal(404), expect: "KubeUnavailable" },
  {
    name: "a kind that is not served, with a Status",
    given: refusal(404, { reason: "NotFound", details: {} }),
    expect: "KubeUnavailable",
  },
  { name: "a name that is in use", given: refusal(409, { reason: "AlreadyExists" }), expect: "KubeAlreadyExists" },
  { name: "a concurrent change", given: refusal(409, { reason: "Conflict" }), expect: "KubeConflict" },
  { name: "a version that is too old", given: refusal(410, { reason: "Expired" }), expect: "KubeExpired" },
  { name: "too many requests", given: refusal(429, { reason: "TooManyRequests" }), expect: "KubeThrottled" },
  { name: "an internal error", given: refusal(500, { reason: "InternalError" }), expect: "KubeUnavailable" },
  { name: "a server that is starting", given: refusal(503), expect: "KubeUnavailable" },
  { name: "a timeout in the server", given: refusal(504, { reason: "Timeout" }), expect: "KubeUnavailable" },
  { name: "a redirect", given: refusal(302), expect: "KubeUnavailable" },
];
for (const { name, given, expect: code } of cases) {
  test(`fromRefusal: ${name} is ${code}`, () => expect(fromRefusal(given).code).toBe(code));
}

test("the message has the call, the server's message and its code", () => {
  const { message } = fromRefusal(refusal(403, { reason: "Forbidden", message: quota }));
  expect(message).toBe(`get pods default/x: ${quota} (HTTP 403 Forbidden)`);
  expect(fromRefusal(refusal(404)).message).toBe("get pods default/x: page not found (HTTP 404)");
});

test("retryAfterMs is set only for throttling, and prefers the header to the body", () => {
  const status = { kind: "Status" as const, details: { retryAfterSeconds: 2 } };
  expect(fromRefusal({ call: "c", httpCode: 429, status }).retryAfterMs).toBe(2_000);
  expect(fromRefusal({ call: "c", httpCode: 429, status, retryAfterMs: 1_000 }).retryAfterMs).toBe(1_000);
  expect(fromRefusal({ call: "c", httpCode: 500, status, retryAfterMs: 1_000 }).retryAfterMs).toBeUndefined();
});

test("Retry-After is read only as seconds", () => {
  const given = ["1", "0", undefined, "", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "1e9"];
  expect(given.map(retryAfterMs)).toEqual([1_000, 0, undefined, undefined, undefined, undefined, undefined]);
});

test("Retry-After counts for at most a minute, in the header and in the body", () => {
  expect(["60", "61", "999999", "9".repeat(400)].map(retryAfterMs)).toEqual([60_000, 60_000, 60_000, 60_000]);
  const status = { kind: "Status" as const, details: { retryAfterSeconds: 86_400 } };
  expect(fromRefusal({ call: "c", httpCode: 429, status }).retryAfterMs).toBe(60_000);
});

test("only a body of kind Status is read as a Status", () => {
  const bodies = ['{"kind":"Status","code":404}', '{"kind":"Pod"}', "<html>", "", "null", "[]"];
  expect(bodies.map((body) => parseStatus(body)?.code)).toEqual([
    404,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
