import { expect, test } from "vitest";
import { StoreError } from "./error.ts";
import { networkFailure, reasonOfStatus, translator } from "./failure.ts";

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
])("failure: %s on the way to a store is %s, also as a nested cause", (code, reason) => {
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
  [503, "Unreachable"],
  [507, "NoSpace"],
  [400, "Other"],
  [undefined, "Other"],
] as const)("failure: the status %s alone means %s", (status, reason) => expect(reasonOfStatus(status)).toBe(reason));

test("failure: a short text of a library's error is kept, on one line, without secrets and without the error", () => {
  const secret = "top+secret/==";
  const translate = translator([secret, ""], () => undefined);
  const thrown = Object.assign(new Error(`no\n  such ${secret} key ${"x".repeat(2000)}`), { request: { secret } });
  const error = translate(thrown, "put a");
  expect(error).toMatchObject({ reason: "Other", name: "StoreError" });
  expect(error.message).toMatch(/^put a: Error: no such \*\*\* key x+$/);
  expect(error.message.length).toBeLessThan(600);
  expect(error.cause).toBeUndefined();
});

test("failure: a StoreError is not translated again", () => {
  const error = new StoreError("NoSpace", "full");
  expect(translator([], () => ({ reason: "Other", text: "" }))(error, "put a")).toBe(error);
});
