import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";

/**
 * Lets the server listen.
 * @param port 0 lets the system choose
 * @returns the port
 * @throws the system's error when the port is taken
 */
export async function listen(server: Server | SecureServer, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Closes the server with all its connections. */
export async function closeNow(server: Server | SecureServer): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
