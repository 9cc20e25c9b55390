import fc from "fast-check";
import { expect, test } from "vitest";
import { StoreError } from "./error.ts";
import { checkKey } from "./key.ts";
import { checkLocation, objectURL, parseObjectURL, type RemoteLocation, type StoreLocation } from "./location.ts";

interface Read {
  readonly url: string;
  readonly location: RemoteLocation;
  readonly key: string;
}

const READ: readonly Read[] = [
  { url: "s3://backups/etcd/db", location: { store: "s3", bucket: "backups" }, key: "etcd/db" },
  {
    url: "s3://backups/a.db?endpoint=http://minio.default.svc:9000&region=eu-west-2&s3ForcePathStyle=true&disableSSL=true",
    location: {
      store: "s3",
      bucket: "backups",
      endpoint: "http://minio.default.svc:9000",
      region: "eu-west-2",
      pathStyle: true,
    },
    key: "a.db",
  },
  {
    url: "s3://backups/a.db?endpoint=minio:9000&disableSSL=1",
    location: { store: "s3", bucket: "backups", endpoint: "http://minio:9000" },
    key: "a.db",
  },
  {
    url: "s3://backups/a.db?endpoint=minio:9000&s3ForcePathStyle=F",
    location: { store: "s3", bucket: "backups", endpoint: "https://minio:9000", pathStyle: false },
    key: "a.db",
  },
  {
    url: "s3://backups/a.db?endpoint=https%3A%2F%2Fminio%3A9000&disableSSL=true",
    location: { store: "s3", bucket: "backups", endpoint: "https://minio:9000" },
    key: "a.db",
  },
  { url: "s3://Old_Bucket/a%20b/%C3%BC%23.db", location: { store: "s3", bucket: "Old_Bucket" }, key: "a b/ü#.db" },
  { url: "gs://backups/a.db", location: { store: "gcs", bucket: "backups" }, key: "a.db" },
  {
    url: "gs://backups/a.db?endpoint=http://127.0.0.1:4443",
    location: { store: "gcs", bucket: "backups", endpoint: "http://127.0.0.1:4443" },
    key: "a.db",
  },
  {
    url: "azblob://backups/a.db?storage_account=acme",
    location: { store: "azure", account: "acme", container: "backups" },
    key: "a.db",
  },
];

for (const { url, location, key } of READ) {
  test(`object URL: ${url} is read`, () => expect(parseObjectURL(url)).toEqual({ location, key }));
}

/** Each message names the part, its value and what it may be. */
const REFUSED: readonly { readonly url: string; readonly says: RegExp }[] = [
  { url: "backup.db", says: /is not a URL; it may be s3:\/\/bucket\/key/ },
  { url: "ftp://backups/a.db", says: /scheme "ftp"; it may be s3:/ },
  { url: "file:///var/a.db", says: /scheme "file"/ },
  { url: "s3://backups", says: /key "" is empty; it may be/ },
  { url: "s3://backups/", says: /key "" is empty/ },
  { url: "s3:///a.db", says: /bucket is ""; it may be 2 to 222/ },
  { url: "s3://a b/a.db", says: /is not a URL|bucket is "a b"/ },
  { url: "s3://bb/a.db?region=x@evil.test/%23", says: /region is "x@evil.test\/#"; it may be up to 63 letters/ },
  { url: "s3://backups/a//b", says: /key "a\/\/b" has an empty name/ },
  { url: "s3://backups/a/%2e%2e%2fb", says: /key "a\/\.\.\/b" has a name/ },
  { url: "s3://backups/a%", says: /key of the object URL has a "%"/ },
  { url: "s3://backups/a%00b", says: /control character/ },
  { url: "s3://backups/a.db#x", says: /fragment.*%23/ },
  { url: "s3://backups:9000/a.db", says: /port/ },
  { url: "s3://backups/a.db?profile=x", says: /"profile".*unknown; s3:\/\/ knows endpoint, region, s3Force/ },
  { url: "gs://backups/a.db?region=x", says: /"region".*gs:\/\/ knows endpoint/ },
  { url: "s3://backups/a.db?disableSSL=yes", says: /"disableSSL".*is "yes"; it may be true or false/ },
  { url: "s3://backups/a.db?region=", says: /"region".*is empty/ },
  { url: "s3://backups/a.db?region=a&region=b", says: /"region".*twice/ },
  { url: "s3://backups/a.db?endpoint=ftp://x", says: /endpoint is "ftp:\/\/x"; it may be http/ },
  { url: "azblob://backups/a.db", says: /"storage_account".*missing; it may be/ },
  { url: "azblob://backups/a.db?storage_account=Acme", says: /account is "Acme"; it may be 3 to 24/ },
  { url: "azblob://Backups/a.db?storage_account=acme", says: /container is "Backups"; it may be/ },
];

for (const { url, says } of REFUSED) {
  test(`object URL: ${url} is refused with a message that states what is allowed`, () => {
    const read = () => parseObjectURL(url);
    expect(read).toThrow(says);
    expect(read).toThrow(expect.objectContaining({ name: "StoreError", reason: "InvalidLocation" }));
  });
}

test("object URL: a password in the URL or its endpoint is refused and not in the message", () => {
  for (const url of ["s3://AKIA:hunter2@backups/a.db", "s3://backups/a.db?endpoint=http://AKIA:hunter2@minio:9000"]) {
    const read = () => parseObjectURL(url);
    expect(read).toThrow(/user or password; credentials are given as a Secret/);
    expect(read).not.toThrow(/hunter2|AKIA/);
  }
});

const KEY = fc
  .array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 4 })
  .map((names) => names.join("/"))
  .filter(isKey);

function isKey(key: string): boolean {
  try {
    return checkKey(key) === key;
  } catch (thrown) {
    if (thrown instanceof StoreError) return false;
    throw thrown;
  }
}

test("object URL: a formatted URL can be parsed back, for any key", () => {
  const locations = fc.constantFrom(...READ.map(({ location }) => location));
  fc.assert(
    fc.property(locations, KEY, (location, key) => {
      expect(parseObjectURL(objectURL(location, key))).toEqual({ location, key });
    }),
  );
});

test("object key: it may have at most 1024 bytes of UTF-8", () => {
  expect(checkKey("a".repeat(1024))).toHaveLength(1024);
  expect(() => checkKey("ü".repeat(513))).toThrow(/has 1026 bytes; it may be/);
  expect(() => checkKey("\ud800")).toThrow(/well-formed/);
});

test("location: a volume's path is absolute", () => {
  const volume = (path: string): StoreLocation => ({ store: "volume", path });
  expect(checkLocation(volume("/backups"))).toEqual(volume("/backups"));
  expect(() => checkLocation(volume("backups"))).toThrow(/path is "backups"; it may be an absolute path/);
});
