import { expect, test } from "vitest";
import { lackingIn, permissionText, surplusIn, wantedPermissions } from "#access/permissions.ts";
import type { RolePermission } from "#api/v1beta1/role.ts";

const texts = (permissions: readonly RolePermission[]) => wantedPermissions(permissions).map(permissionText);

test.each<[string, readonly RolePermission[], readonly string[]]>([
  ["nothing", [], []],
  ["one key", [{ access: "Read", key: "a" }], ['READ "a"']],
  ["a prefix", [{ access: "Write", prefix: "a/" }], ['WRITE ["a/", "a0")']],
  ["a range", [{ access: "ReadWrite", range: { from: "a", to: "c" } }], ['READWRITE ["a", "c")']],
  ["from a key on", [{ access: "Read", range: { from: "a" } }], ['READ ["a", …)']],
  ["up to a key", [{ access: "Read", range: { from: "", to: "c" } }], ['READ ["\\u0000", "c")']],
  ["all keys", [{ access: "Read", range: { from: "" } }], ['READ ["\\u0000", …)']],
  ["an empty range before the key NUL", [{ access: "Read", range: { from: "", to: "\0" } }], []],
  ["only the first possible key", [{ access: "Read", range: { from: "", to: "\0\0" } }], ['READ ["\\u0000", "\\u0000\\u0000")']],
  ["one key that is listed twice", [{ access: "Read", key: "a" }, { access: "Read", key: "a" }], ['READ "a"']],
  ["reading and writing of one key as two permissions", [{ access: "Read", key: "a" }, { access: "Write", key: "a" }], ['READWRITE "a"']],
  ["reading and writing of one key, and reading of it again", [{ access: "ReadWrite", key: "a" }, { access: "Read", key: "a" }], ['READWRITE "a"']],
  ["a key, and a prefix with the same text", [{ access: "Read", key: "a" }, { access: "Write", prefix: "a" }], ['READ "a"', 'WRITE ["a", "b")']],
])("the spec's permissions become ranges of etcd: %s", (_, permissions, expected) => {
  expect(texts(permissions)).toEqual(expected);
}); // biome-ignore format: a table

const wanted = wantedPermissions([
  { access: "Read", key: "a" },
  { access: "Write", prefix: "b" },
]);

test("a missing or different permission is lacking, and a range that is not in the spec is surplus", () => {
  const found = wantedPermissions([
    { access: "ReadWrite", key: "a" },
    { access: "Read", key: "c" },
  ]);
  expect(lackingIn(found, wanted).map(permissionText)).toEqual(['READ "a"', 'WRITE ["b", "c")']);
  expect(surplusIn(found, wanted).map(permissionText)).toEqual(['READ "c"']);
  expect([lackingIn(wanted, wanted), surplusIn(wanted, wanted)]).toEqual([[], []]);
});

test("ranges that are not UTF-8 are compared by their bytes", () => {
  const [a, b] = [0xfe, 0xff].map((byte) => ({
    access: "READ" as const,
    key: new Uint8Array([byte]),
    rangeEnd: new Uint8Array(),
  }));
  expect(lackingIn([a!], [b!])).toEqual([b]);
});
