// The part that type generation uses. The package's own declarations import some that do not pass
// exactOptionalPropertyTypes, and the project checks the declarations of its libraries too (skipLibCheck: false).

export interface Options {
  readonly additionalProperties?: boolean;
  readonly bannerComment?: string;
  readonly enableConstEnums?: boolean;
  readonly format?: boolean;
  readonly ignoreMinAndMaxItems?: boolean;
  readonly strictIndexSignatures?: boolean;
  readonly style?: Readonly<Record<string, unknown>>;
  readonly unknownAny?: boolean;
  readonly unreachableDefinitions?: boolean;
}

export function compile(schema: object, name: string, options?: Options): Promise<string>;
