import { expect, test } from "vitest";
import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import { folderOf, ownerFolder, placeText } from "./backup-folder.ts";

test.each<[string, EtcdBackupSpec["source"], string | undefined, readonly string[]]>([
  ["an EtcdCluster", { clusterName: "my-etcd" }, "uid", ["my-etcd", "uid"]],
  ["a cluster that does not exist", { clusterName: "my-etcd" }, undefined, ["my-etcd", "unknown"]],
  ["any etcd", { endpoints: ["https://etcd.example:2379", "https://other:1"] }, undefined, ["external", "etcd.example"]],
  ["an etcd at an IPv6 address", { endpoints: ["http://[::1]:2379/"] }, undefined, ["external", "___1_"]],
  ["none", { endpoints: [] }, undefined, ["external", "unknown"]],
])("the folder belongs to: %s", (_, source, uid, parts) => {
  expect(ownerFolder(source, uid)).toEqual(parts);
}); // biome-ignore format: a table

test.each([
  ["a/b/c.db", "a/b"],
  ["c.db", ""],
])("the folder of %s is %j", (key, folder) => {
  expect(folderOf(key)).toBe(folder);
});

const source = { clusterName: "my-etcd" };
const external = (endpoint: string) => ({ source: { endpoints: [endpoint] }, destination: { s3: { bucket: "b" } } });
const on = (destination: object) => ({ source, destination });
type Given = Parameters<typeof placeText>[0];

test.each<[string, object, object, boolean]>([
  ["stores of one bucket", on({ s3: { bucket: "b" } }), on({ s3: { bucket: "b", region: "eu" } }), true],
  ["stores of two buckets", on({ gcs: { bucket: "b" } }), on({ gcs: { bucket: "c" } }), false],
  ["two kinds of stores", on({ gcs: { bucket: "b" } }), on({ s3: { bucket: "b" } }), false],
  ["two prefixes of gcs", on({ gcs: { bucket: "b" } }), on({ gcs: { bucket: "b", prefix: "p" } }), false],
  ["two endpoints of gcs", on({ gcs: { bucket: "b" } }), on({ gcs: { bucket: "b", endpoint: "http://g" } }), false],
  ["one container", on({ azure: { account: "a", container: "c" } }), on({ azure: { account: "a", container: "c" } }), true],
  ["two accounts", on({ azure: { account: "a", container: "c" } }), on({ azure: { account: "b", container: "c" } }), false],
  ["two containers", on({ azure: { account: "a", container: "c" } }), on({ azure: { account: "a", container: "d" } }), false],
  ["two prefixes of azure", on({ azure: { account: "a", container: "c", prefix: "p" } }), on({ azure: { account: "a", container: "c" } }), false],
  ["two endpoints of azure", on({ azure: { account: "a", container: "c", endpoint: "http://z" } }), on({ azure: { account: "a", container: "c" } }), false],
  ["one claim", on({ volume: { claimName: "c" } }), on({ volume: { claimName: "c" } }), true],
  ["two claims", on({ volume: { claimName: "c" } }), on({ volume: { claimName: "d" } }), false],
  ["two paths", on({ volume: { claimName: "c", path: "p" } }), on({ volume: { claimName: "c" } }), false],
  ["two etcds of one host", external("http://h:1"), external("http://h:2"), false],
  ["one etcd", external("http://h:1"), external("http://h:1"), true],
  ["two hosts", external("http://h:1"), external("http://i:1"), false],
])("whether both are one place: %s", (_, one, other, isOne) => {
  expect(placeText(one as Given) === placeText(other as Given)).toBe(isOne);
}); // biome-ignore format: a table
