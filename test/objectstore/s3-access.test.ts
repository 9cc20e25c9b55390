import { execFileSync } from "node:child_process";
import { mkdirSync, rmdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startForwardProxy } from "#kit/forward-proxy.ts";
import { newServerTLS } from "#kit/server-tls.ts";
import { credentialsDir, removeTemporaryDirs, temporaryDir } from "#kit/store-server.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/versitygw.ts";
import type { S3Location } from "#objectstore/location.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// What only S3 has: ways to be let in, and the errors of those who are not.

const OPTIONS = { signal: never };
const { id, secret } = S3_ACCESS;
const ACCESS = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret };

/** Puts a small object, reads it back, and takes it away again. */
async function keeps(location: S3Location, files: Readonly<Record<string, string>>): Promise<void> {
  const store = await openPlace({ location, credentialsDir: credentialsDir(files) }, BRISK);
  try {
    await store.put("a/b", bodyOf(Buffer.from("kept")), OPTIONS);
    expect((await read(store.get("a/b", OPTIONS))).toString()).toBe("kept");
    await store.delete("a/b", OPTIONS);
  } finally {
    await store.close();
  }
}

describe("S3 over HTTP", () => {
  let server: Versitygw;
  let location: S3Location;
  beforeAll(async () => {
    server = await startVersitygw({ virtualDomain: "store.test" });
    const endpoint = `http://127.0.0.1:${server.port}`;
    location = { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true };
  });
  afterAll(() => server.stop());

  test("the bucket stands in the name of the host, unless the path is asked for; HTTP_PROXY and NO_PROXY are heeded", async () => {
    const { url, asked, stop } = await startForwardProxy();
    vi.stubEnv("HTTP_PROXY", url);
    vi.stubEnv("NO_PROXY", "127.0.0.1");
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await stop();
    });
    const host = `store.test:${server.port}`;
    await keeps(location, ACCESS);
    await keeps({ store: "s3", bucket: "backups", endpoint: `http://${host}`, region: "us-east-1" }, ACCESS);
    expect([...asked]).toEqual([`backups.${host}`]);
    await keeps({ ...location, endpoint: `http://${host}` }, ACCESS);
    expect([...asked]).toEqual([`backups.${host}`, host]);
  });

  test.each([
    ["an unknown key", { ...ACCESS, AWS_ACCESS_KEY_ID: "AKIAUNKNOWNUNKNOWN00" }, "WrongCredentials"],
    ["a wrong secret", { ...ACCESS, AWS_SECRET_ACCESS_KEY: `${secret}x` }, "WrongCredentials"],
    ["no secret", { AWS_ACCESS_KEY_ID: id }, "WrongCredentials"],
    ["an empty key", { ...ACCESS, AWS_ACCESS_KEY_ID: "\n" }, "WrongCredentials"],
  ])("%s is told by name, for every call", async (_what, files, reason) => {
    const place = { location, credentialsDir: credentialsDir(files) };
    const call = async (name: "head" | "put" | "get" | "delete" | "list") => {
      const store = await openPlace(place, BRISK);
      if (name === "put") await store.put("a", bodyOf(bytesOf(1)), OPTIONS);
      if (name === "get") await read(store.get("a", OPTIONS));
      if (name === "head") await store.head("a", OPTIONS);
      if (name === "delete") await store.delete("a", OPTIONS);
      if (name === "list") for await (const _ of store.list("", OPTIONS)) break;
    };
    for (const name of ["head", "put", "get", "delete", "list"] as const) {
      expect([name, await refused(call(name))]).toEqual([name, reason]);
    }
  });

  test("a bucket that is not there is told by name, for every call", async () => {
    const nowhere = { ...location, bucket: "nowhere" };
    const store = await openPlace({ location: nowhere, credentialsDir: credentialsDir(ACCESS) }, BRISK);
    expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("NoSuchBucket");
    expect(await refused(read(store.get("a", OPTIONS)))).toBe("NoSuchBucket");
    expect(await refused(store.head("a", OPTIONS))).toBe("NoSuchBucket");
    expect(await refused(store.delete("a", OPTIONS))).toBe("NoSuchBucket");
    await store.close();
  });

  test("a key that the server cannot keep, since it is a folder's or a file's already, is refused and leaves nothing", async () => {
    const store = await openPlace({ location, credentialsDir: credentialsDir(ACCESS) }, BRISK);
    await store.put("file", bodyOf(bytesOf(1)), OPTIONS);
    await refused(store.put("file/below", bodyOf(bytesOf(1)), OPTIONS));
    await store.close();
  });
});

test("S3: a session token is sent along, and its expiry is told as wrong credentials", async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(String(request.headers["x-amz-security-token"]));
    expect(String(request.headers.authorization)).toContain("x-amz-security-token");
    const body = "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>";
    response.writeHead(400, { "content-type": "application/xml" }).end(request.method === "HEAD" ? undefined : body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    const { port } = server.address() as { port: number };
    const endpoint = `http://127.0.0.1:${port}`;
    const location = { store: "s3", bucket: "backups", endpoint, pathStyle: true } as const;
    const credentials = credentialsDir({ ...ACCESS, AWS_SESSION_TOKEN: "session+token" });
    const store = await openPlace({ location, credentialsDir: credentials }, BRISK);
    expect(await refused(store.head("a", OPTIONS))).toBe("WrongCredentials");
    expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("WrongCredentials");
    expect(new Set(seen)).toEqual(new Set(["session+token"]));
    await store.close();
  } finally {
    server.close();
  }
});

describe("S3 over TLS", async () => {
  const [own, other] = await Promise.all([newServerTLS(), newServerTLS()]);
  let server: Versitygw;
  let location: S3Location;
  beforeAll(async () => {
    server = await startVersitygw({ tls: own });
    const endpoint = `https://localhost:${server.port}`;
    location = { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true };
  });
  afterAll(() => server.stop());

  test("an own authority is believed when it is named", async () => {
    await keeps(location, { ...ACCESS, "ca.crt": own.ca });
  });

  test("through the proxy of HTTPS_PROXY, which sees nothing of it", async () => {
    const { url, asked, stop } = await startForwardProxy();
    vi.stubEnv("HTTPS_PROXY", url);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await stop();
    });
    await keeps(location, { ...ACCESS, "ca.crt": own.ca });
    expect([...asked]).toEqual([`localhost:${server.port}`]);
  });

  test.each([
    ["no authority is named", {}],
    ["another one is named", { "ca.crt": other.ca }],
  ])("%s: TLS, told at once", async (_what, files) => {
    expect(await refused(keeps(location, { ...ACCESS, ...files }))).toBe("TLS");
  });

  test("the certificate is for another name: TLS", async () => {
    const elsewhere = { ...location, endpoint: `https://127.0.0.1:${server.port}` };
    expect(await refused(keeps(elsewhere, { ...ACCESS, "ca.crt": own.ca }))).toBe("TLS");
  });

  test("TLS where the server has none: TLS", async () => {
    const plain = await startVersitygw();
    const place = { ...location, bucket: plain.bucket("backups"), endpoint: `https://127.0.0.1:${plain.port}` };
    expect(await refused(keeps(place, { ...ACCESS, "ca.crt": own.ca }))).toBe("TLS");
    await plain.stop();
  });
});

test("S3: a server whose disk is full says NoSpace, and nothing is there", async () => {
  const root = join(temporaryDir("full"), "disk");
  mkdirSync(root);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=12m", "etcd-cluster-operator-test", root]);
  let server: Versitygw | undefined;
  try {
    server = await startVersitygw({ root });
    const endpoint = `http://127.0.0.1:${server.port}`;
    const location = { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true } as const;
    const store = await openPlace({ location, credentialsDir: credentialsDir(ACCESS) }, BRISK);
    for (const size of [7 * MIB, 30 * MIB]) {
      if (size === 7 * MIB) await store.put("first", bodyOf(bytesOf(size)), OPTIONS);
      expect(await refused(store.put(`full/${size}`, bodyOf(bytesOf(size)), OPTIONS))).toBe("NoSpace");
      expect(await store.head(`full/${size}`, OPTIONS)).toBeUndefined();
    }
    await store.close();
  } finally {
    await server?.stop(); // also of a test that fails: what it holds cannot be unmounted, and that would be all that is told
    execFileSync("umount", [root]);
    rmdirSync(root);
  }
});
