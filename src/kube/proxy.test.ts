import { describe, expect, test } from "vitest";
import { hasCode } from "#base/error.ts";
import { proxyFor } from "./proxy.ts";

const HTTPS_PROXY = "http://proxy.test:3128";
const PROXY = "http://proxy.test:3128/";
const server = new URL("https://api.example.com:6443");

describe("the proxy is", () => {
  test.each<[string, string, Record<string, string>, string | undefined]>([
    ["none without a variable", "https://api.test", {}, undefined],
    ["none with an empty variable", "https://api.test", { HTTPS_PROXY: "" }, undefined],
    ["that of HTTPS_PROXY", "https://api.test", { HTTPS_PROXY }, PROXY],
    ["that of https_proxy", "https://api.test", { https_proxy: HTTPS_PROXY }, PROXY],
    ["that of HTTPS_PROXY before https_proxy", "https://api.test", { HTTPS_PROXY, https_proxy: "http://other" }, PROXY],
    [
      "none when only the variable of the other protocol is set",
      "https://api.test",
      { HTTP_PROXY: HTTPS_PROXY },
      undefined,
    ],
    ["that of HTTP_PROXY for a server without TLS", "http://api.test", { HTTP_PROXY: HTTPS_PROXY }, PROXY],
    ["an HTTP proxy when the variable has no protocol", "https://api.test", { HTTPS_PROXY: "proxy.test:3128" }, PROXY],
  ])("%s", (_what, url, env, expected) => {
    expect(proxyFor(new URL(url), env)).toBe(expected);
  });
});

test.each(["https://localhost:6443", "https://127.0.0.1:6443", "https://127.1.2.3", "https://[::1]:6443"])(
  "%s is the local host and needs no proxy",
  (url) => expect(proxyFor(new URL(url), { HTTPS_PROXY })).toBeUndefined(),
);

test.each([
  ["*", server, true],
  ["api.example.com", server, true],
  ["API.example.com", server, true],
  ["example.com", server, true],
  [".example.com", server, true],
  ["*.example.com", server, true],
  ["ample.com", server, false],
  [".api.example.com", server, false],
  ["api.example.com:6443", server, true],
  ["api.example.com:443", server, false],
  ["example.com:443", new URL("https://example.com"), true],
  ["other.test, example.com ,", server, true],
  [",,", server, false],
  ["10.96.0.0/12", new URL("https://10.96.0.1"), true],
  ["10.96.0.0/12", new URL("https://10.112.0.1"), false],
  ["10.96.0.0/99", new URL("https://10.96.0.1"), false],
  ["10.96.0.1", new URL("https://10.96.0.1"), true],
  ["10.96.0.1:443", new URL("https://10.96.0.1"), true],
  ["6.0.1", new URL("https://10.96.0.1"), false],
  ["fd00::/8", new URL("https://[fd00::1]"), true],
  ["fd00::1", new URL("https://[fd00::1]"), true],
  ["[fd00::1]:443", new URL("https://[fd00::1]"), true],
  ["[fd00::1]:444", new URL("https://[fd00::1]"), false],
  ["10.0.0.0/8", server, false],
])("NO_PROXY=%s with server %s exempts the server: %s", (exceptions, url, isExcepted) => {
  for (const name of ["NO_PROXY", "no_proxy"]) {
    expect(proxyFor(url, { HTTPS_PROXY, [name]: exceptions })).toBe(isExcepted ? undefined : PROXY);
  }
});

test.each(["socks5://user:4242@proxy.test", "http://user:4242@:x"])(
  "%s is refused without its password in the message",
  (value) => {
    try {
      proxyFor(server, { HTTPS_PROXY: value });
      expect.unreachable();
    } catch (thrown) {
      expect(hasCode(thrown, "InvalidConfig") && thrown.message).toMatch(/^HTTPS_PROXY names no proxy; it must/);
      expect(String(thrown)).not.toContain("4242");
    }
  },
);
