import { afterEach } from 'vitest';
import { type Behaviour, type GatewayStage, gatewayStage, type StageOptions } from './gateway-stage.ts';

/** The access key that each of these stages knows, as one of alice. */
export const key = 'a-key-that-alice-chose-herself';

/** A target that answers everything with `ok`. */
export const ok: Behaviour = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');

/** For a test file: starts a gateway in front of a target. Each ends after its test. Files share modules, so each calls it for itself. */
export function startedStages() {
  const running: GatewayStage[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((stage) => stage.close()));
  });
  return async (behaviour: Behaviour = ok, options: StageOptions = {}): Promise<GatewayStage> => {
    const stage = await gatewayStage(behaviour, options);
    running.push(stage);
    stage.know(key);
    return stage;
  };
}
