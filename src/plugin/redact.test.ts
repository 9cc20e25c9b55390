import { expect, test } from "vitest";
import { redacted, withoutPassword } from "./redact.ts";

test("a report has no values that may be secret", () => {
  const env = [
    { name: "DB_PASSWORD", value: "swordfish" },
    { name: "ETCD_NAME", value: "my-etcd-0" },
    { name: "FROM", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
  ];
  const object = {
    kind: "Pod",
    metadata: {
      managedFields: [{ manager: "swordfish" }],
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": '{"env":"swordfish"}', kept: "yes" },
    },
    spec: {
      containers: [{ env, args: ["--x=https://me:swordfish@host/"] }],
      automountServiceAccountToken: false,
      secretName: "s",
    },
    password: "swordfish",
  };
  const text = JSON.stringify(redacted(object));
  expect(text).not.toContain("swordfish");
  for (const kept of ["my-etcd-0", "DB_PASSWORD", '"kept":"yes"', '"secretName":"s"', '"key":"k"', "@host/"])
    expect(text).toContain(kept);
});

test("data of Secrets and ConfigMaps keeps only its keys", () => {
  expect(redacted({ kind: "Secret", data: { a: "b" } })).toEqual({ kind: "Secret", data: { a: "[removed]" } });
});

test.each([
  ["a password in a URL", "at https://u:p4ss@host", "at https://[removed]@host"],
  ["a token", "got eyJhbGciOi.eyJzdWIiOi.c2ln", "got [removed]"],
  ["a private key", "x -----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\ny", "x [removed]\ny"],
  ["a password as a field", '{"password":"p4ss","a":1}', '{"password":[removed]","a":1}'],
  ["plain text", "token my-token of 3 members", "token my-token of 3 members"],
])("logs: %s", (_, text, plain) => {
  expect(withoutPassword(text)).toBe(plain);
});

test("an object that is too deep is cut", () => {
  let deep: unknown = "end";
  for (let n = 0; n < 5_000; n++) deep = { deep };
  expect(JSON.stringify(redacted(deep))).toContain("[removed]");
});
