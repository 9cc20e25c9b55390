import { expect, test } from "vitest";
import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import { folderOf, ownerFolder, placeText } from "./backup-folder.ts";

test.each<[string, EtcdBackupSpec["source"], string | undefined, readonly string[]]>([
  ["of an EtcdCluster has its name and uid", { cluster: { name: "my-etcd" } }, "uid", ["my-etcd", "uid"]],
  ['of an EtcdCluster that does not exist has "unknown" instead of the uid', { cluster: { name: "my-etcd" } }, undefined, ["my-etcd", "unknown"]],
  ["of another etcd has the host of its first endpoint", { external: { endpoints: ["https://etcd.example:2379", "https://other:1"] } }, undefined, ["external", "etcd.example"]],
  ["of another etcd at an IPv6 address has underscores instead of brackets and colons", { external: { endpoints: ["http://[::1]:2379/"] } }, undefined, ["external", "___1_"]],
  ['of an etcd without endpoints has "unknown" instead of a host', { external: { endpoints: [] } }, undefined, ["external", "unknown"]],
])("the folder for backups %s", (_, source, uid, parts) => {
  expect(ownerFolder(source, uid)).toEqual(parts);
}); // biome-ignore format: a table

test.each([
  ["a/b/c.db", "a/b"],
  ["c.db", ""],
])("the folder of key %s is %j", (key, folder) => {
  expect(folderOf(key)).toBe(folder);
});

const source = { cluster: { name: "my-etcd" } };
const external = (endpoint: string) => ({
  source: { external: { endpoints: [endpoint] } },
  destination: { s3: { bucket: "b" } },
});
const on = (destination: object) => ({ source, destination });
type Given = Parameters<typeof placeText>[0];

test.each<[string, object, object, boolean]>([
  ["one bucket is one place", on({ s3: { bucket: "b" } }), on({ s3: { bucket: "b", region: "eu" } }), true],
  ["two buckets are two places", on({ gcs: { bucket: "b" } }), on({ gcs: { bucket: "c" } }), false],
  ["two kinds of stores are two places", on({ gcs: { bucket: "b" } }), on({ s3: { bucket: "b" } }), false],
  ["two prefixes in Google Cloud Storage are two places", on({ gcs: { bucket: "b" } }), on({ gcs: { bucket: "b", prefix: "p" } }), false],
  ["two endpoints of Google Cloud Storage are two places", on({ gcs: { bucket: "b" } }), on({ gcs: { bucket: "b", endpoint: "http://g" } }), false],
  ["one container is one place", on({ azure: { account: "a", container: "c" } }), on({ azure: { account: "a", container: "c" } }), true],
  ["two accounts are two places", on({ azure: { account: "a", container: "c" } }), on({ azure: { account: "b", container: "c" } }), false],
  ["two containers are two places", on({ azure: { account: "a", container: "c" } }), on({ azure: { account: "a", container: "d" } }), false],
  ["two prefixes in Azure are two places", on({ azure: { account: "a", container: "c", prefix: "p" } }), on({ azure: { account: "a", container: "c" } }), false],
  ["two endpoints of Azure are two places", on({ azure: { account: "a", container: "c", endpoint: "http://z" } }), on({ azure: { account: "a", container: "c" } }), false],
  ["one claim is one place", on({ volume: { claimName: "c" } }), on({ volume: { claimName: "c" } }), true],
  ["two claims are two places", on({ volume: { claimName: "c" } }), on({ volume: { claimName: "d" } }), false],
  ["two paths on a claim are two places", on({ volume: { claimName: "c", path: "p" } }), on({ volume: { claimName: "c" } }), false],
  ["two etcd endpoints on one host are two places", external("http://h:1"), external("http://h:2"), false],
  ["one etcd endpoint is one place", external("http://h:1"), external("http://h:1"), true],
  ["two hosts are two places", external("http://h:1"), external("http://i:1"), false],
])("where backups are stored: %s", (_, one, other, isOne) => {
  expect(placeText(one as Given) === placeText(other as Given)).toBe(isOne);
}); // biome-ignore format: a table
