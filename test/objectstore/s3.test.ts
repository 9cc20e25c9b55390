import { ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll } from "vitest";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import { S3_ACCESS, startVersitygw } from "#kit/servers/versitygw.ts";
import type { S3Location } from "#objectstore/location.ts";
import { MIB } from "./bodies.ts";
import { type Place, storeContract } from "./contract.ts";
import { networkContract } from "./network.ts";

afterAll(removeTemporaryDirs);

const server = await startVersitygw();
afterAll(() => server.stop());

const credentials = credentialsDir({ AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: `${S3_ACCESS.secret}\n` });
let count = 0;
let last = "";

function place(port: number): S3Location {
  last = server.bucket(`bucket-${count++}`);
  return { store: "s3", bucket: last, endpoint: `http://127.0.0.1:${port}`, pathStyle: true };
}

const placeAt = (port: number): Promise<Place> =>
  Promise.resolve({ location: place(port), credentialsDir: credentials });

storeContract("S3", () => ({
  partBytes: 8 * MIB,
  secrets: [S3_ACCESS.id, S3_ACCESS.secret],
  place: () => placeAt(server.port),
  async unfinished() {
    const client = new S3Client({
      endpoint: `http://127.0.0.1:${server.port}`,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: { accessKeyId: S3_ACCESS.id, secretAccessKey: S3_ACCESS.secret },
    });
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: last }));
    client.destroy();
    return Uploads.map(({ Key = "" }) => Key);
  },
}));

networkContract("S3", () => server.port, placeAt);
