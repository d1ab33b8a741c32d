// How every Go program is compiled. With one other setting, Go would compile each library again, the standard one included.

/** In place of settings of the user that would make another build of it, or none. No C compiler is needed. */
export const buildSettings = {
  CGO_ENABLED: '0',
  GOFLAGS: '-mod=readonly -buildvcs=false',
  GOWORK: 'off',
  // The compiler lives for a package, and collects garbage all the while: without it a build takes a fifth less of the
  // processor. One compiler runs on each core, so each of them has a limit.
  GOGC: 'off',
  GOMEMLIMIT: '1GiB',
} as const;

/** No one debugs the programs: without tables for a debugger the compiler takes a fifth less of the processor. */
export const buildFlags = ['-trimpath', '-gcflags=all=-dwarf=false'] as const;
