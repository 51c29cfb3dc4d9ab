import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../../contract/errors.ts';
import type { IntegrationRecord } from '../catalog/records.ts';
import {
  integrationOf,
  requireSignature,
  SEGMENT_CALLS,
  type SegmentContext,
  takeMessages,
} from '../sources/segment.ts';
import { RawBody } from './body.ts';

interface SegmentRoute extends SegmentContext {
  /** Checks that the service is ready and lets the address in, and counts the request. */
  admit(request: FastifyRequest): void;
  signalOf(request: FastifyRequest): AbortSignal;
}

/** The endpoints to which Segment's libraries send, for whoever has a write key instead of an API key. */
export function addSegmentRoutes(app: FastifyInstance, ctx: SegmentRoute): void {
  const integrations = new WeakMap<FastifyRequest, IntegrationRecord>();
  for (const call of SEGMENT_CALLS) {
    app.route({
      method: 'POST',
      url: `/v1/${call}`,
      // Before the body is read, so that a caller without a key cannot make the service parse one.
      onRequest: async (request) => {
        ctx.admit(request);
        integrations.set(request, integrationOf(ctx.catalog, request.headers.authorization));
      },
      handler: async (request) => {
        const integration = integrations.get(request);
        if (integration === undefined) throw new ApiError('internal', 'The request was not authenticated.');
        const body = request.body instanceof RawBody ? request.body : undefined;
        try {
          const signature = request.headers['x-signature']?.toString();
          await requireSignature(ctx, integration, body?.bytes ?? Buffer.alloc(0), signature);
          await takeMessages(ctx, integration, { call, body: await body?.parse(), signal: ctx.signalOf(request) });
          return { success: true };
        } finally {
          body?.release();
        }
      },
    });
  }
}
