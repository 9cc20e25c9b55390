/** Error that the user of a command can act on: printed as its message, without a stack. */
export class Failure extends Error {
  override readonly name = "Failure";
}
