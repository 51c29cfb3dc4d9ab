import type * as z from 'zod';
import { readArguments, renamedIn } from './arguments.ts';
import { type Argument, aliasOf, annotationsOf, type ToolListing } from './catalog.ts';
import type { Arguments } from './relations.ts';
import { answerSchema, inputSchema, type Schema } from './schemas.ts';
import type { Tool } from './tool.ts';

/** Arguments under the names that are listed, and what was to be renamed for that, in words. */
export interface Understood {
  listed: Arguments;
  renamed: readonly string[];
}

/** The description of a tool that is written by hand, not computed from a row; the rest of a `Tool` follows from it. */
export interface HandTool<Input>
  extends Pick<Tool, 'effect' | 'role' | 'toolset' | 'needs' | 'blast' | 'next' | 'nearest'> {
  name: string;
  title: string;
  description: string;
  /** Its arguments, by name. */
  shape: Readonly<Record<string, z.ZodType>>;
  /** Fields of its answer, by name. */
  output: Record<string, Schema>;
  /** The view in which a host may show the answer. */
  meta?: ToolListing['_meta'];
  /** Understands other names of arguments than those that are listed. */
  understand?(sent: Arguments): Understood;
  /** Checks what the schemas of the single arguments cannot express; throws `invalid_input`. */
  check?(input: Arguments): void;
  run(context: Parameters<Tool['run']>[0], input: Input, blast?: Parameters<Tool['run']>[2]): ReturnType<Tool['run']>;
}

/** Builds the tool. To be called at the tool's first use, since schemas take time. */
export function handTool<Input>(described: HandTool<Input>): Tool {
  const { name, title, description, shape, output, meta, understand, check, run, ...rest } = described;
  const fields = Object.entries(shape).map(
    ([field, schema]): Argument => ({ name: field, field, into: undefined, schema, alias: aliasOf(field) }),
  );
  return {
    ...rest,
    arguments: fields,
    listing: {
      name,
      title,
      description,
      inputSchema: { ...inputSchema(shape), type: 'object' },
      outputSchema: answerSchema(output),
      annotations: annotationsOf(rest.effect),
      ...(meta === undefined ? {} : { _meta: meta }),
    },
    read: (sent) => {
      const input = readArguments(name, fields, understand?.(sent).listed ?? sent);
      check?.(input);
      return input;
    },
    renamed: (sent) => understand?.(sent).renamed ?? renamedIn(fields, sent),
    run: (context, input, blast) => run(context, input as Input, blast),
  };
}
