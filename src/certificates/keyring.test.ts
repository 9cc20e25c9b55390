import { inspect } from "node:util";
import { expect, test } from "vitest";
import { Keyring } from "#certificates/keyring.ts";
import { secretOf } from "#kit/snapshots/certificates.ts";

const ref = { namespace: "foo", name: "my-etcd" };
const data = { "ca.crt": "whom", "tls.crt": "who", "tls.key": "hush" };

test("a keyring returns the learned client certificate, as the same object until the Secret changes", () => {
  const keyring = new Keyring();
  expect(keyring.identityOf(ref)).toBeUndefined();
  keyring.learn(ref, secretOf("a", data));
  const first = keyring.identityOf(ref)!;
  expect([first.ca, first.cert, first.key]).toEqual(["whom", "who", "hush"]);
  keyring.learn(ref, secretOf("a", data));
  expect(keyring.identityOf(ref)).toBe(first);
  for (const [key, name] of [
    ["ca.crt", "ca"],
    ["tls.crt", "cert"],
    ["tls.key", "key"],
  ] as const) {
    keyring.learn(ref, secretOf("a", { ...data, [key]: "new" }));
    expect(keyring.identityOf(ref)![name]).toBe("new");
  }
  keyring.learn(ref, secretOf("b", data));
  expect(keyring.identityOf(ref)!.secretName).toBe("b");
  expect(keyring.identityOf({ ...ref, namespace: "bar" })).toBeUndefined();
  keyring.forget(ref);
  expect(keyring.identityOf(ref)).toBeUndefined();
});

test("an incomplete Secret does not replace the client certificate in a keyring", () => {
  const keyring = new Keyring();
  keyring.learn(ref, secretOf("a", data));
  for (const key of Object.keys(data)) keyring.learn(ref, secretOf("a", { ...data, [key]: "" }));
  expect(keyring.identityOf(ref)?.cert).toBe("who");
});

test("printing a keyring or its client certificate shows no key", () => {
  const keyring = new Keyring();
  keyring.learn(ref, secretOf("a", data));
  const identity = keyring.identityOf(ref);
  for (const each of [keyring, { keyring }, identity, { identity }]) {
    for (const text of [inspect(each, { depth: 9, showHidden: true }), JSON.stringify(each), String(each)]) {
      expect(text).not.toContain("hush");
    }
  }
});

test("additional CAs are appended to ca.crt, also when they are added before the Secret", () => {
  const keyring = new Keyring();
  keyring.alsoTrust(ref, "others");
  expect(keyring.identityOf(ref)).toBeUndefined();
  keyring.learn(ref, secretOf("a", data));
  const first = keyring.identityOf(ref);
  expect(first?.ca).toBe("whomothers");
  keyring.alsoTrust(ref, "others");
  expect(keyring.identityOf(ref)).toBe(first);
  keyring.alsoTrust(ref, "");
  expect(keyring.identityOf(ref)).toMatchObject({ ca: "whom", cert: "who", secretName: "a" });
  keyring.alsoTrust(ref, "others");
  keyring.forget(ref);
  keyring.learn(ref, secretOf("a", data));
  expect(keyring.identityOf(ref)?.ca).toBe("whom");
});
