"""An agent that talks by Pipecat's serializer for Twilio, as a customer of the simulated carrier.

It repeats what the caller said, stops at each key, and ends the call at the fifth one. It reports on standard output.
"""

import asyncio
import json
import os
import sys
from types import SimpleNamespace

import numpy
from aiohttp import WSMsgType, web
from pipecat.frames.frames import EndFrame, InputAudioRawFrame, InputDTMFFrame, InterruptionFrame, OutputAudioRawFrame
from pipecat.serializers.twilio import TwilioFrameSerializer

RATE = 16_000
LOUD = 500
PAUSE_S = 0.6
KEYS = 5


def report(**what):
    print(json.dumps(what), flush=True)


async def open_serializer(start):
    serializer = TwilioFrameSerializer(
        stream_sid=start["streamSid"],
        call_sid=start["callSid"],
        account_sid=start["accountSid"],
        auth_token=os.environ["PEER_AUTH_TOKEN"],
        base_url=os.environ["PEER_CARRIER_URL"],
    )
    await serializer.setup(SimpleNamespace(audio_in_sample_rate=RATE))
    return serializer


class Call:
    def __init__(self, socket):
        self.socket = socket
        self.serializer = None
        self.heard = b""
        self.silence_s = 0.0
        self.keys = 0

    async def send(self, frame):
        message = await self.serializer.serialize(frame)
        if message is not None:
            await self.socket.send_str(message)

    async def receive(self, text):
        message = json.loads(text)
        if message["event"] == "start":
            self.serializer = await open_serializer(message["start"])
            return report(did="started")
        if self.serializer is None:
            return None
        frame = await self.serializer.deserialize(text)
        if isinstance(frame, InputAudioRawFrame):
            return await self.hear(frame)
        if isinstance(frame, InputDTMFFrame):
            return await self.take_key(frame)
        return None

    async def hear(self, frame):
        samples = numpy.frombuffer(frame.audio, dtype=numpy.int16)
        is_loud = numpy.abs(samples).max(initial=0) > LOUD
        self.silence_s = 0.0 if is_loud else self.silence_s + len(samples) / RATE
        if is_loud or self.heard:
            self.heard += frame.audio
        if not self.heard or self.silence_s < PAUSE_S:
            return
        said, self.heard = self.heard, b""
        report(did="heard", seconds=round(len(said) / 2 / RATE, 1))
        for at in range(0, len(said), RATE // 10):
            await self.send(OutputAudioRawFrame(said[at : at + RATE // 10], RATE, 1))

    async def take_key(self, frame):
        report(did="key", key=frame.button.value)
        await self.send(InterruptionFrame())
        self.keys += 1
        if self.keys == KEYS:
            await self.send(EndFrame())
            report(did="ended")


async def stream(request):
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    call = Call(socket)
    async for message in socket:
        if message.type == WSMsgType.TEXT:
            await call.receive(message.data)
    return socket


async def instructions(request):
    text = f'<Response><Connect><Stream url="ws://{request.host}/media"/></Connect></Response>'
    return web.Response(text=text, content_type="text/xml")


async def main():
    app = web.Application()
    app.add_routes([web.post("/twiml", instructions), web.get("/media", stream)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    report(did="listening", port=site._server.sockets[0].getsockname()[1])
    # Ends with the process that started it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


asyncio.run(main())
