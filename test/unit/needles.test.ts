import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { foundIn, needlesOf } from "#kit/tables/needles.ts";

// The check that no secret is exposed must find a secret in every form.

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const KEY = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const PASSWORD = 'pass"word\\4711';

const base64 = (text: string) => Buffer.from(text).toString("base64");

test.each<[string, (secret: string) => string]>([
  ["in plain text", (secret) => `a ${secret} b`],
  ["in JSON", (secret) => JSON.stringify({ told: secret })],
  ["in base64", (secret) => base64(secret)],
  ["in base64, shifted by one byte", (secret) => base64(`a${secret}`)],
  ["in base64, shifted by two bytes and followed by more bytes", (secret) => base64(`ab${secret}cde`)],
])("a private key and a password are found %s", (_, told) => {
  expect(foundIn(told(KEY), ["another-one", KEY])).toEqual([1]);
  expect(foundIn(told(PASSWORD), [PASSWORD, "another-one"])).toEqual([0]);
}); // biome-ignore format: a table

test("a private key is found in JSON within JSON", () => {
  expect(foundIn(JSON.stringify({ msg: JSON.stringify({ told: KEY }) }), [KEY])).toEqual([0]);
});

test("a private key is not found in another private key or in a text about private keys", () => {
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });
  expect(foundIn(`${other.toString()} Secret with a -----BEGIN PRIVATE KEY-----`, [KEY])).toEqual([]);
  expect(needlesOf(KEY).length).toBeGreaterThan(3);
});
