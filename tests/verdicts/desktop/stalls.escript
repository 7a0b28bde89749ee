#!/usr/bin/env escript
%% SPDX-License-Identifier: GPL-2.0
%%! +S 2
%% Stalls of a scheduler: stalls.escript FILE DELAY_MS ROUNDS KINDS. Both kinds, cpu and sleep, keep it from all other processes: a product of
%% integers of some million bits, which does not yield, and a sleep within the emulator, as in a NIF. Beside them a process does short work ten
%% times a second.
-mode(compile).

main([File, Delay, Rounds, Kinds]) ->
    erts_debug:set_internal_state(available_internal_state, true),
    spawn(fun tick/0),
    timer:sleep(list_to_integer(Delay)),
    Factor = factor(1 bsl 200000),
    [stall(File, Kind, Factor) || _ <- lists:seq(1, list_to_integer(Rounds)), Kind <- string:tokens(Kinds, ",")],
    receive never -> ok end.

tick() ->
    timer:sleep(100),
    lists:sum(lists:seq(1, 1000)),
    tick().

%% A number whose square takes 150 ms and more, however busy the machine is.
factor(Number) ->
    Took = [element(1, timer:tc(fun() -> Number * Number end)) || _ <- [1, 2, 3]],
    case lists:min(Took) >= 150000 of
        true -> Number;
        false -> factor(Number bsl 100000)
    end.

stall(File, Kind, Factor) ->
    Begin = os:system_time(nanosecond),
    case Kind of
        "cpu" -> Factor * Factor;
        "sleep" -> erts_debug:set_internal_state(sleep, 150)
    end,
    Line = io_lib:format("~b ~b ~s~n", [Begin, os:system_time(nanosecond), Kind]),
    ok = file:write_file(File, Line, [append]),
    timer:sleep(400).
