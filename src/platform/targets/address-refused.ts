import { LatchkeyError } from '../../errors.ts';

/** An address that may not be dialled. `problem` is the end of a sentence, and holds no part of the address. */
export class AddressRefused extends LatchkeyError<'ERR_TARGET_ADDRESS'> {
  readonly problem: string;

  constructor(problem: string) {
    super('ERR_TARGET_ADDRESS', { problem });
    this.problem = problem;
  }
}
