import { expect, test } from "vitest";
import { StoreError } from "./error.ts";
import { AnswerError, networkFailure, reasonOfStatus, translator } from "./failure.ts";

const coded = (code: string, message = "it failed") => Object.assign(new Error(message), { code });

test.each([
  ["ECONNREFUSED", "Unreachable"],
  ["ECONNRESET", "Unreachable"],
  ["ENOTFOUND", "Unreachable"],
  ["ETIMEDOUT", "Timeout"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "TLS"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "TLS"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "TLS"],
  ["CERT_HAS_EXPIRED", "TLS"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "TLS"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "TLS"],
  ["EPROTO", "TLS"],
  ["ENOSPC", undefined],
])("network error %s is StoreError %s, also when nested as a cause", (code, reason) => {
  expect(networkFailure(coded(code))?.reason).toBe(reason);
  expect(networkFailure(new Error("fetch failed", { cause: coded(code) }))?.reason).toBe(reason);
  expect(networkFailure(new AggregateError([coded(code)], "both failed"))?.reason).toBe(reason);
});

test.each([
  [401, "WrongCredentials"],
  [403, "AccessDenied"],
  [404, "Other"],
  [412, "ObjectExists"],
  [429, "Unreachable"],
  [500, "Unreachable"],
  [501, "InvalidLocation"],
  [503, "Unreachable"],
  [507, "NoSpace"],
  [400, "Other"],
  [undefined, "Other"],
] as const)("HTTP status %s without a known error code is StoreError %s", (status, reason) =>
  expect(reasonOfStatus(status)).toBe(reason),
);

test("a StoreError has at most 600 characters of the library's message, on one line and without secrets", () => {
  const secret = "top+secret/==";
  const translate = translator([secret, ""], () => undefined);
  const thrown = Object.assign(new Error(`no\n  such ${secret} key ${"x".repeat(2000)}`), { request: { secret } });
  const error = translate(thrown, "put a");
  expect(error).toMatchObject({ reason: "Other", name: "StoreError" });
  expect(error.message).toMatch(/^put a: Error: no such \*\*\* key x+$/);
  expect(error.message.length).toBeLessThan(600);
  expect(error.cause).toBeUndefined();
});

test("a StoreError is not translated again", () => {
  const error = new StoreError("NoSpace", "full");
  expect(translator([], () => ({ reason: "Other", text: "" }))(error, "put a")).toBe(error);
});

test("a long answer that looks like many tokens is translated in seconds", () => {
  const startMs = performance.now();
  const error = translator([], () => ({ reason: "Other", text: "-eyJ".repeat(200_000) }))(new Error(), "put a");
  expect(error.message).toHaveLength("put a: ".length + 500);
  expect(performance.now() - startMs).toBeLessThan(30_000); // without the limit it takes minutes
});

test("the text of a token service is cut, on one line, and without secrets and signed tokens", () => {
  const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";
  const text = `the token ${token} of\nmy-secret is wrong ${"x".repeat(2_000)}`;
  const thrown = new AnswerError({ reason: "WrongCredentials", text, mayPass: true });
  const error = translator(["my-secret"], () => ({ reason: "Other", text: "" }))(thrown, "put a");
  expect(error).toMatchObject({ name: "StoreError", reason: "WrongCredentials", mayPass: true });
  expect(error.message).toMatch(/^put a: the token \*\*\* of \*\*\* is wrong x+$/);
  expect(error.message).toHaveLength("put a: ".length + 500);
});
